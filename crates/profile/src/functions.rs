//! Names of the functions in a program's table of symbols.
#![deny(clippy::indexing_slicing)]

use object::{Object, ObjectSymbol, SymbolKind};

/// A function that a program's table of symbols has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Name of the symbol, as the linker has it.
    pub name: String,
    /// True if it is seen in its own source file only; several may have one name.
    pub local: bool,
}

/// The functions of an object file, in the order of its table of symbols; none where it is stripped, or no object file.
pub fn function_symbols(bytes: &[u8]) -> Vec<FunctionSymbol> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let named = functions.filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        Some(FunctionSymbol { name: name.to_owned(), local: symbol.is_local() })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_its_functions_and_other_bytes_have_none() {
        let own = std::fs::read(std::env::current_exe().expect("it runs")).expect("it can be read");
        let functions = function_symbols(&own);
        assert!(functions.iter().any(|function| function.name == "main" && !function.local), "{}", functions.len());
        assert!(functions.iter().any(|function| function.local && function.name.contains("function_symbols")));
        assert_eq!(function_symbols(b"\x7fELF and nothing else"), []);
    }
}
