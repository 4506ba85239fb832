use front::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lang = detect(&path, None, &text).unwrap_or(Language::C);
    let t = std::time::Instant::now();
    let p = Parsed::parse(lang, text.as_str());
    let t1 = t.elapsed();
    let mut memo = Memo::new();
    let u = lower(&p, &Options::default(), &mut memo);
    let t2 = t.elapsed();
    let mut edited = text.clone();
    let at = text.rfind("i++").or_else(|| text.rfind("++i")).unwrap_or(0);
    edited.insert(at, ' ');
    let t = std::time::Instant::now();
    let q = p.reparse(&[], edited);
    let u2 = lower(&q, &Options::default(), &mut memo);
    let t3 = t.elapsed();
    let same = u.items.iter().zip(&u2.items).filter(|(a, b)| std::sync::Arc::ptr_eq(&a.body, &b.body)).count();
    println!("parse {t1:?} parse+lower {t2:?} edit {t3:?} items {} same {same}", u.items.len());
    for r in &u.rejects { println!("file reject {:?} {} {:?}", r.kind, r.reason, r.span); }
    for i in &u.items {
        if std::env::args().nth(2).is_some() { println!("{:?} {} {:?} kernel={}\n  {}", i.kind, i.name, i.span, i.is_kernel, term::notation::print(&i.body, i.body.root)); }
        for r in i.body.rejects() { let s = r.span.shifted(i.span.start); println!("  reject {:?} {}: {:?}", r.kind, r.reason, text.get(s.range()).map(|x| x.chars().take(60).collect::<String>())); }
    }
}
