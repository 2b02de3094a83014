use super::*;

const MAP: &str = "\
Discarded input sections

 .text.gone     0x0000000000000000       0x10 a.o

Linker script and memory map

.text           0x0000000000001050      0x15e
 *(.text.unlikely .text.*_unlikely .text.unlikely.*)
 *(.text.startup .text.startup.*)
 .text.startup.main
                0x0000000000001050       0x40 a.o
                0x0000000000001050                main
 .text          0x0000000000001090       0x22 /usr/lib/Scrt1.o
 .text          0x00000000000010b2        0x0 a.o
 *fill*         0x00000000000010b2        0xe 
 .text.f1       0x0000000000001180        0x5 a.o
 .text.f2       0x0000000000001190        0xd lib dir/libx.a(b.o)
 .text          0x00000000000011b0       0x1d lib/libx.a(c.o)

.rodata         0x0000000000002000       0x20
 .rodata.str1.1 0x0000000000002000        0x4 a.o
 .rodata.table  0x0000000000002010       0x10 a.o
";

const SCRIPT: &str = "\
SECTIONS
{
  .text           :
  {
    *(.text.unlikely)
    *(.text .text.*)
  }
  .rodata         : { *(.rodata .rodata.*) }
  .data.rel.ro : { *(.data.rel.ro) }
}
";

#[test]
fn a_map_lists_sections_with_their_files() {
    let found = input_sections(MAP);
    let names: Vec<(&str, &str)> = found.iter().map(|one| (one.name.as_str(), one.file.as_str())).collect();
    assert_eq!(
        names,
        [
            (".text.startup.main", "a.o"),
            (".text", "/usr/lib/Scrt1.o"),
            (".text.f1", "a.o"),
            (".text.f2", "lib dir/libx.a(b.o)"),
            (".text", "lib/libx.a(c.o)"),
            (".rodata.str1.1", "a.o"),
            (".rodata.table", "a.o"),
        ]
    );
    assert_eq!(input_sections("no map\n .text 0x1 0x2 a.o\n"), []);
}

#[test]
fn a_script_places_each_function_and_leaves_the_rest() {
    let ordered = script(SCRIPT, &input_sections(MAP), 7).expect("there is a section .text");
    assert_eq!(ordered.functions, 4);
    let patterns = [
        "*(\".text.startup.main\")\n",
        "*(\".text.f1\")\n",
        "*(\".text.f2\")\n",
        "*libx.a:c.o(.text)\n",
        "{\n    *(\".rodata.table\")\n *(.rodata .rodata.*) }\n",
    ];
    for pattern in patterns {
        assert_eq!(ordered.script.matches(pattern).count(), 1, "{pattern} in\n{}", ordered.script);
    }
    assert!(ordered.script.find("main").expect("it is there") < ordered.script.find(".f1").expect("it is there"));
    assert!(!ordered.script.contains("crt") && !ordered.script.contains("str1.1"));
    // The statements of the default script take what is left.
    let of_default = |line: &&str| SCRIPT.lines().any(|own| own == *line);
    let kept: Vec<&str> = ordered.script.lines().filter(of_default).collect();
    assert_eq!(kept, SCRIPT.lines().filter(|line| !line.contains(".rodata  ")).collect::<Vec<_>>());
    assert_eq!(script("SECTIONS { }", &input_sections(MAP), 7), None);
}

/// Statements of the functions in their order, with their offsets.
fn of_functions(names: &[&str], seed: u64) -> Vec<String> {
    let section = |name: &&str| InputSection {
        output: ".text".to_owned(),
        name: format!(".text.{name}"),
        file: "a.o".to_owned(),
    };
    let sections: Vec<InputSection> = names.iter().map(section).collect();
    let script = script(SCRIPT, &sections, seed).expect("there is a section .text").script;
    script.lines().filter(|line| line.contains("ALIGN")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_function_more_leaves_order_and_offsets_of_the_others() {
    for seed in 0..50 {
        let without = of_functions(&["a", "b", "c", "d", "e"], seed);
        let with = of_functions(&["new", "e", "d", "c", "b", "a"], seed);
        let others: Vec<String> = with.into_iter().filter(|line| !line.contains("new")).collect();
        assert_eq!(others, without);
    }
}

#[test]
fn every_order_and_every_offset_comes_up() {
    let mut orders = BTreeSet::new();
    let mut offsets = BTreeSet::new();
    for seed in 0..400 {
        let lines = of_functions(&["a", "b", "c", "d"], seed);
        let names: Vec<&str> = lines.iter().filter_map(|line| line.split('"').nth(1)).collect();
        orders.insert(names.join(" "));
        offsets.extend(lines.iter().filter_map(|line| line.split(';').nth(1).map(str::to_owned)));
    }
    assert_eq!(orders.len(), 24);
    assert_eq!(offsets.into_iter().collect::<Vec<_>>(), [" . += 0", " . += 16", " . += 32", " . += 48"]);
}

#[test]
fn names_of_rust_lose_the_hash_of_their_version() {
    assert_eq!(stable(".text._ZN3run4main17h0123456789abcdefE"), ".text._ZN3run4main");
    assert_eq!(stable(".text._RNvCs8gYd7Xw_3run4main"), ".text._RNvCs3run4main");
    assert_eq!(stable(".text.main17h"), ".text.main17h");
}
