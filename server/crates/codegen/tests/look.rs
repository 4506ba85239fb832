mod common;
#[test]
fn look() {
    let text = std::fs::read_to_string(std::env::var("LOOK").unwrap()).unwrap();
    let parsed = front::Parsed::parse(front::Language::C, text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::default());
    for i in unit.items.iter().filter(|i| i.kind == front::ItemKind::Function) {
        match common::offload(&text, &i.name, 0) {
            common::Outcome::Done { output, .. } => println!("//// {}\n{}{}\n-----\n{}", i.name, output.host_edits[0].text, output.host_edits[1].text, output.kernel_file.text.split("#ifndef").next().unwrap()),
            common::Outcome::Refused(r) => println!("//// {} {:?}", i.name, r),
            common::Outcome::NotParallel(r) => println!("//// {} {}", i.name, r),
        }
    }
}
