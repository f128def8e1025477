//! `plimsoll sim`.
use crate::flags::Sim;
pub(crate) fn run(_: &Sim) -> Result<(), std::io::Error> {
    Ok(())
}
