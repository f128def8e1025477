use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// A member that is none if it is of another kind than it should be: one member that changed does
/// not take the others with it.
pub(super) fn loose<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}
