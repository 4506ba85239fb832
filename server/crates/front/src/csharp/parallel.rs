//! `Parallel.For` and `Parallel.ForEach` of the library: loops whose bodies are lambdas.

use tree_sitter::Node;

use super::member::Lower;
use super::names::Entity;
use super::read::children;
use super::types::Ty;

/// Which of the library's parallel loops a lambda is the body of.
pub(super) fn of_lambda<'t>(lambda: Node<'_>, text: &'t str) -> Option<&'t str> {
    let argument = lambda.parent().filter(|p| p.kind() == "argument")?;
    let call = argument.parent()?.parent().filter(|c| c.kind() == "invocation_expression")?;
    let function = call.child_by_field_name("function").filter(|f| f.kind() == "member_access_expression")?;
    let of = function.child_by_field_name("expression")?;
    let word = |n: Node<'_>| text.get(n.byte_range());
    let library = matches!(word(of)?, "Parallel" | "System.Threading.Tasks.Parallel");
    let counts = children(argument.parent()?).len() == 3;
    let name = word(function.child_by_field_name("name")?)?;
    (library && counts && name == "For").then_some(name)
}

impl Lower<'_> {
    /// Whether both bounds of the library's loop around a lambda are `int`s beyond doubt.
    pub(super) fn counts_in_int(&self, lambda: Node<'_>) -> bool {
        let list = lambda.parent().and_then(|a| a.parent());
        let bounds: Vec<Node<'_>> = list.map(children).unwrap_or_default().into_iter().take(2).collect();
        bounds.len() == 2 && bounds.iter().all(|b| children(*b).first().is_some_and(|e| self.is_int(*e)))
    }

    fn is_int(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "integer_literal" => {
                super::literal::integer(self.text(node)).is_some_and(|(_, k)| k == term::IntKind::Int)
            }
            "identifier" => match self.lookup(self.text(node)) {
                Some(Entity::Captured(ty)) => *ty == Ty::INT,
                Some(Entity::Var(var)) => var.ty == Ty::INT,
                Some(Entity::Constant(_, ty)) => *ty == Ty::INT,
                Some(_) => false,
                None => self.quick_type(node) == Some(Ty::INT),
            },
            "member_access_expression" => {
                let array = node.child_by_field_name("expression").and_then(|e| self.lookup(self.text(e)));
                let is_array = match array {
                    Some(Entity::Captured(ty)) => ty.elements().is_some(),
                    Some(Entity::Var(var)) => var.ty.elements().is_some(),
                    _ => false,
                };
                is_array && self.text(node).ends_with(".Length")
            }
            "parenthesized_expression" => children(node).first().is_some_and(|e| self.is_int(*e)),
            "binary_expression" => {
                let sides = ["left", "right"].map(|f| node.child_by_field_name(f));
                let operator = node.child_by_field_name("operator").map_or("", |o| self.text(o));
                let sums = matches!(operator, "+" | "-" | "*" | "/");
                sums && sides.iter().all(|s| s.is_some_and(|s| self.is_int(s)))
            }
            _ => false,
        }
    }
}
