//! The URL of a store as it is given: the URL, or `@FILE` for the file that it stands in, so that its password is neither in
//! the process list nor in the configuration.

/// What names the file of a URL.
const FILE: char = '@';

/// The URL that is given.
///
/// # Errors
/// Why the file cannot be read.
pub fn store_url(given: &str) -> Result<String, String> {
    let Some(file) = given.strip_prefix(FILE) else {
        return Ok(given.to_owned());
    };
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|cause| format!("store: {file} cannot be read: {cause}"))?;
    Ok(text.trim().to_owned())
}
