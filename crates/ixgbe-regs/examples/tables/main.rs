//! Writes the registers of `registers.toml` as code: for the model, and for the driver in every language.

mod languages;
mod table;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = table::read(&std::fs::read_to_string(here.join("registers.toml"))?)?;
    for (path, text) in languages::files(&table) {
        let path = here.join(path);
        if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        std::fs::create_dir_all(path.parent().ok_or("a file has a directory")?)?;
        std::fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
