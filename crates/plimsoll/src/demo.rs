//! `plimsoll demo`.
use crate::flags::Demo;
pub(crate) fn run(_: &Demo) -> Result<(), std::io::Error> {
    Ok(())
}
