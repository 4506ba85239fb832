//! The types that a document declares: their fields, properties and methods, as far as one file says them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::one_expression::{self, Inline, Property};
use super::read::{child, children, walk};

/// All types of a document, by simple name.
#[derive(Clone, Default)]
pub(crate) struct Outline {
    pub types: Arc<FxHashMap<Arc<str>, Type>>,
    /// Names that are declared twice, or in parts.
    pub uncertain: Vec<Arc<str>>,
    /// Simple names of types that others in the document derive from.
    pub derived_from: Vec<Arc<str>>,
}

impl Outline {
    /// What the meaning of a member depends on beside its own text.
    pub(crate) fn signature(&self) -> u64 {
        let mut types: Vec<(&Arc<str>, &Type)> = self.types.iter().collect();
        types.sort_by_key(|(name, _)| *name);
        let mut hasher = rustc_hash::FxHasher::default();
        (types, &self.uncertain, &self.derived_from).hash(&mut hasher);
        hasher.finish()
    }

    /// The same for what stands in this place. The simple name of a type of another namespace, or of one that is declared in a type that is
    /// not around, may mean another type there, which another file declares.
    pub(crate) fn seen_from(&self, place: &Place) -> Outline {
        let is_hidden = |ty: &Type| ty.place.space != place.space || !place.types.ends_with(&ty.place.types);
        let hidden = self.types.iter().filter(|(_, ty)| is_hidden(ty)).map(|(name, _)| name.clone());
        let mut uncertain: Vec<Arc<str>> = self.uncertain.iter().cloned().chain(hidden).collect();
        uncertain.sort();
        Outline { types: self.types.clone(), uncertain, derived_from: self.derived_from.clone() }
    }
}

/// What stands around a declaration, innermost first.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Place {
    space: Vec<Arc<str>>,
    types: Vec<Arc<str>>,
}

impl Place {
    pub(crate) fn of(node: Node<'_>, text: &str) -> Place {
        let around = || std::iter::successors(node.parent(), |n| n.parent());
        let name = |n: Node<'_>| word(n.child_by_field_name("name"), text);
        Place {
            space: around().filter(|n| n.kind() == "namespace_declaration").map(name).collect(),
            types: around().filter(|n| TYPES.contains(&n.kind())).map(name).collect(),
        }
    }
}

/// A class, struct, record, interface or enumeration.
#[derive(Default, Hash)]
pub(crate) struct Type {
    pub kind: &'static str,
    pub is_partial: bool,
    pub has_bases: bool,
    pub has_static_constructor: bool,
    /// Whether attributes are said of it: they may say where its fields lie.
    pub has_attributes: bool,
    /// Whether it has fields alone that lie one behind the other, as they stand there.
    pub is_laid_out: bool,
    /// Whether `==` may be code.
    pub has_equality: bool,
    /// Around it.
    pub outer: Option<Arc<str>>,
    pub place: Place,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
    /// Properties with code, and indexers.
    pub properties: Vec<Property>,
    /// Names of what is neither: properties with code, events, indexers, nested types.
    pub others: Vec<Arc<str>>,
    /// Type parameters.
    pub parameters: Vec<Arc<str>>,
}

/// A field, or a property that is no more than one.
#[derive(Clone, Hash)]
pub(crate) struct Field {
    pub name: Arc<str>,
    /// The text of its type.
    pub ty: Arc<str>,
    pub is_static: bool,
    pub is_const: bool,
    pub is_readonly: bool,
    pub is_volatile: bool,
    /// Whether other types of the program may name it.
    pub is_shown: bool,
    /// Of a property: the compiler chooses where it lies.
    pub is_property: bool,
    /// The text of what it is set to.
    pub value: Option<Arc<str>>,
    /// Of a constant likewise, with its place.
    pub constant: Option<Inline>,
}

/// A method.
#[derive(Clone, Hash)]
pub(crate) struct Method {
    pub name: Arc<str>,
    pub is_static: bool,
    /// It may be another one that is called.
    pub is_open: bool,
    pub is_generic: bool,
    pub returns: Arc<str>,
    /// Types of parameters by their text, and whether one is more than a plain value.
    pub parameters: Vec<Arc<str>>,
    pub names: Vec<Arc<str>>,
    pub is_plain: bool,
    /// All that it does, if that is one expression.
    pub inline: Option<Inline>,
}

/// Types of `System` that members are understood by.
const OF_SYSTEM: [&str; 26] = [
    "Array",
    "Boolean",
    "Buffer",
    "Byte",
    "Char",
    "Console",
    "Convert",
    "Decimal",
    "Double",
    "Int16",
    "Int32",
    "Int64",
    "Math",
    "MathF",
    "Object",
    "Parallel",
    "ReadOnlySpan",
    "SByte",
    "Single",
    "Span",
    "String",
    "System",
    "Tuple",
    "UInt16",
    "UInt32",
    "UInt64",
];

pub(crate) const TYPES: [&str; 5] = [
    "class_declaration",
    "struct_declaration",
    "record_declaration",
    "interface_declaration",
    "enum_declaration",
];

/// Whether a declaration has this word before it.
pub(crate) fn has_modifier(node: Node<'_>, text: &str, word: &str) -> bool {
    let mut cursor = node.walk();
    let found = node
        .children(&mut cursor)
        .any(|c| c.kind() == "modifier" && text.get(c.byte_range()).is_some_and(|m| m == word));
    found
}

pub(super) fn word(node: Option<Node<'_>>, text: &str) -> Arc<str> {
    node.and_then(|n| text.get(n.byte_range())).unwrap_or("").into()
}

/// The simple name of the type around a node.
pub(crate) fn type_around(mut node: Node<'_>, text: &str) -> Option<Arc<str>> {
    while let Some(parent) = node.parent() {
        if TYPES.contains(&parent.kind()) {
            return Some(word(parent.child_by_field_name("name"), text));
        }
        node = parent;
    }
    None
}

pub(crate) fn outline(root: Node<'_>, text: &str) -> Outline {
    let mut out = Outline::default();
    let (mut declared, mut types) = (Vec::new(), FxHashMap::default());
    walk(root, |node| {
        if TYPES.contains(&node.kind()) {
            declared.push(node);
        }
        // `using Name = …;` hides what else has the name, the library's types too
        if let ("using_directive", Some(name)) = (node.kind(), node.child_by_field_name("name")) {
            let name = word(Some(name), text);
            out.uncertain.push(name.clone());
            types.insert(name, Type::default());
        }
        !is_body(node.kind())
    });
    let mut places: Vec<Place> = declared.iter().map(|n| Place::of(*n, text)).collect();
    if child(root, "global_statement").is_some() {
        places.push(Place::default());
    }
    let one_space = places.windows(2).all(|w| w[0].space == w[1].space);
    for node in declared {
        let name = word(node.child_by_field_name("name"), text);
        let ty = read_type(node, text);
        if let Some(bases) = child(node, "base_list") {
            out.derived_from.extend(children(bases).into_iter().map(|b| word(Some(b), text)));
        }
        // in another namespace it is the library's that is meant
        let two_meanings = OF_SYSTEM.contains(&&*name) && (!one_space || ty.outer.is_some());
        // fields that lie in one another
        let overlaid = ty.has_attributes && node_text(node, text).contains("FieldOffset");
        // of several types with one name, a size each
        let in_generic = std::iter::successors(node.parent(), |n| n.parent())
            .any(|n| TYPES.contains(&n.kind()) && child(n, "type_parameter_list").is_some());
        if overlaid
            || in_generic
            || ty.is_partial
            || ty.kind.is_empty()
            || two_meanings
            || types.contains_key(&name)
        {
            out.uncertain.push(name.clone());
        }
        types.insert(name, ty);
    }
    out.types = Arc::new(types);
    out
}

fn node_text<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or("")
}

/// Whether no declaration stands in it that others see.
fn is_body(kind: &str) -> bool {
    matches!(kind, "block" | "arrow_expression_clause" | "accessor_list" | "global_statement")
}

fn read_type(node: Node<'_>, text: &str) -> Type {
    let mut ty = Type {
        kind: match node.kind() {
            "class_declaration" => "class",
            "struct_declaration" => "struct",
            "record_declaration" => "record",
            "enum_declaration" => "enum",
            _ => "interface",
        },
        is_partial: has_modifier(node, text, "partial") || node.has_error(),
        has_bases: child(node, "base_list").is_some(),
        has_attributes: child(node, "attribute_list").is_some(),
        outer: type_around(node, text),
        place: Place::of(node, text),
        ..Type::default()
    };
    if let Some(list) = child(node, "type_parameter_list") {
        let name = |p: Node<'_>| word(p.child_by_field_name("name"), text);
        ty.parameters = children(list).into_iter().map(name).collect();
    }
    // a record's parameters are properties of it
    if let Some(list) = child(node, "parameter_list") {
        ty.others.extend(children(list).into_iter().map(|p| word(p.child_by_field_name("name"), text)));
    }
    ty.is_laid_out = !ty.has_attributes && child(node, "parameter_list").is_none();
    let Some(body) = node.child_by_field_name("body") else { return ty };
    for member in children(body) {
        ty.is_laid_out &= lays_nothing(member, text);
        // members that are there only for some
        ty.is_partial |= member.kind().starts_with("preproc_");
        ty.has_equality |= member.kind() == "operator_declaration" && node_text(member, text).contains("==");
        read_member(&mut ty, member, text);
    }
    ty.has_equality |= ty.is_partial || ty.has_bases || ty.kind == "record";
    ty
}

/// Whether a member is a plain field, or brings no field with it.
fn lays_nothing(member: Node<'_>, text: &str) -> bool {
    match member.kind() {
        "field_declaration" => {
            !has_modifier(member, text, "fixed") && child(member, "attribute_list").is_none()
        }
        "property_declaration" => {
            let says_field =
                node_text(member, text).split(|c: char| !c.is_alphanumeric()).any(|w| w == "field");
            !automatic(member, text) && !says_field || has_modifier(member, text, "static")
        }
        kind => {
            let known = [
                "method",
                "constructor",
                "operator",
                "conversion_operator",
                "indexer",
                "struct",
                "class",
                "enum",
            ];
            kind.strip_suffix("_declaration").is_some_and(|k| known.contains(&k))
        }
    }
}

fn read_member(ty: &mut Type, member: Node<'_>, text: &str) {
    let has = |m: &str| has_modifier(member, text, m);
    let name = || word(member.child_by_field_name("name"), text);
    match member.kind() {
        "enum_member_declaration" => {
            // counted on from the one before, where that is a number
            let given = member.child_by_field_name("value").map(|v| node_text(v, text));
            let before = |f: &Field| f.value.as_ref().and_then(|v| v.parse::<i64>().ok());
            let value = match (given, ty.fields.last()) {
                (Some(given), _) => given.parse::<i64>().ok(),
                (None, None) => Some(0),
                (None, Some(last)) => before(last).and_then(|v| v.checked_add(1)),
            };
            ty.fields.push(Field {
                name: name(),
                ty: "int".into(),
                is_static: true,
                is_const: true,
                is_readonly: false,
                is_volatile: false,
                is_shown: true,
                is_property: false,
                value: value.map(|v| v.to_string().into()),
                constant: None,
            });
        }
        "field_declaration" => {
            let Some(declaration) = child(member, "variable_declaration") else { return };
            let of: Arc<str> = word(declaration.child_by_field_name("type"), text);
            for one in children(declaration).into_iter().filter(|c| c.kind() == "variable_declarator") {
                let declared = one.child_by_field_name("name");
                let value = children(one).into_iter().find(|c| Some(*c) != declared);
                ty.fields.push(Field {
                    name: word(declared, text),
                    ty: of.clone(),
                    is_static: has("static") || has("const"),
                    is_const: has("const"),
                    is_readonly: has("readonly"),
                    is_volatile: has("volatile") || has("fixed"),
                    is_shown: has("public") || has("internal"),
                    is_property: false,
                    value: value.map(|v| word(Some(v), text)),
                    constant: value.filter(|_| has("const")).and_then(|v| one_expression::whole(v, text)),
                });
            }
        }
        // of an interface alone: no name of the type means it
        _ if child(member, "explicit_interface_specifier").is_some()
            && member.kind() != "method_declaration" => {}
        "property_declaration" => {
            let field = automatic(member, text).then(|| Field {
                name: name(),
                ty: word(member.child_by_field_name("type"), text),
                is_static: has("static"),
                is_const: false,
                // one that only a constructor sets
                is_readonly: !sets(member, text),
                is_volatile: false,
                is_shown: (has("public") || has("internal")) && !hides_an_accessor(member),
                is_property: true,
                value: None,
                constant: None,
            });
            match field.filter(|_| !has("virtual") && !has("override") && !has("abstract")) {
                Some(field) => ty.fields.push(field),
                None => {
                    ty.others.push(name());
                    ty.properties.push(one_expression::property(member, text));
                }
            }
        }
        "indexer_declaration" => {
            ty.others.push(name());
            ty.properties.push(one_expression::property(member, text));
        }
        "method_declaration" => ty.methods.push(method(member, text)),
        "constructor_declaration" => ty.has_static_constructor |= has("static"),
        _ => ty.others.push(name()),
    }
}

/// Whether one accessor is less open than the property: `{ private get; set; }`.
fn hides_an_accessor(property: Node<'_>) -> bool {
    let accessors = property.child_by_field_name("accessors").map(children).unwrap_or_default();
    accessors.iter().any(|a| child(*a, "modifier").is_some())
}

/// Whether a property has no code of its own: `{ get; set; }`.
fn automatic(property: Node<'_>, text: &str) -> bool {
    let Some(list) = property.child_by_field_name("accessors") else { return false };
    let accessors = children(list);
    let plain = |a: &Node<'_>| a.kind() == "accessor_declaration" && a.child_by_field_name("body").is_none();
    let gets = |a: &Node<'_>| &*word(a.child_by_field_name("name"), text) == "get";
    accessors.iter().all(plain) && accessors.iter().any(gets) && !property.has_error()
}

fn sets(property: Node<'_>, text: &str) -> bool {
    let accessors = property.child_by_field_name("accessors").map(children).unwrap_or_default();
    accessors.iter().any(|a| &*word(a.child_by_field_name("name"), text) == "set")
}

fn method(node: Node<'_>, text: &str) -> Method {
    let has = |m: &str| has_modifier(node, text, m);
    let list = node.child_by_field_name("parameters");
    let parameters: Vec<Node<'_>> = list.map(children).unwrap_or_default();
    let is_plain = |p: &Node<'_>| {
        let words = children(*p);
        let plain = words
            .iter()
            .all(|c| Some(*c) == p.child_by_field_name("type") || Some(*c) == p.child_by_field_name("name"));
        p.kind() == "parameter" && plain
    };
    // a `params` array is no node of its own
    let whole = list.and_then(|l| text.get(l.byte_range())).unwrap_or("");
    let lists = whole.split(|c: char| !c.is_alphanumeric()).any(|w| w == "params");
    // `[Conditional]` takes calls away
    let attributes = children(node).into_iter().filter(|c| c.kind() == "attribute_list").flat_map(children);
    let known = |a: Node<'_>| {
        let name = word(a.child_by_field_name("name"), text);
        let name = name.rsplit('.').next().unwrap_or("").trim_end_matches("Attribute").to_owned();
        ["MethodImpl", "Pure", "Obsolete", "DebuggerStepThrough", "SuppressMessage", "Test"].contains(&&*name)
    };
    let is_plain_call = attributes.into_iter().all(known);
    Method {
        name: word(node.child_by_field_name("name"), text),
        is_static: has("static"),
        is_open: !is_plain_call
            || ["virtual", "override", "abstract", "partial", "extern", "async"].iter().any(|m| has(m))
            || child(node, "explicit_interface_specifier").is_some(),
        is_generic: node.child_by_field_name("type_parameters").is_some(),
        returns: word(node.child_by_field_name("returns"), text),
        parameters: parameters.iter().map(|p| word(p.child_by_field_name("type"), text)).collect(),
        names: parameters.iter().map(|p| word(p.child_by_field_name("name"), text)).collect(),
        is_plain: parameters.iter().all(is_plain) && !lists,
        inline: node.child_by_field_name("body").and_then(|b| one_expression::inline(b, text)),
    }
}
