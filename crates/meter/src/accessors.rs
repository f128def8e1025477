/// The ways to the service below, which every service here has in its `inner`.
macro_rules! inner_accessors {
    () => {
        /// The service below.
        pub fn get_ref(&self) -> &Inner {
            &self.inner
        }

        /// The service below, mutably.
        pub fn get_mut(&mut self) -> &mut Inner {
            &mut self.inner
        }

        /// The service below, this one taken off.
        pub fn into_inner(self) -> Inner {
            self.inner
        }
    };
}
