//! Finds the places in a source file where a mutant can be put.
//!
//! cargo-mutants lists the mutants and the beginning of each. This module finds the place in the
//! syntax, with the data that is needed to put the mutant and the original side by side.
//!
//! Mutants are switched at run time, so code that the compiler evaluates has no mutants: constants,
//! `const fn`, patterns.

use proc_macro2::Span;
use quote::ToTokens;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, UnOp};

/// Form of the change at a place.
#[derive(Debug)]
pub enum Form {
    /// `left op right`: a mutant is another operator.
    Binary { left: Range<usize>, right: Range<usize>, op: String },
    /// An operator before an expression. The mutant is the expression alone.
    Unary { part: Range<usize> },
    /// A field of a struct literal. The mutant is the value from the literal's base.
    Field { filled: String },
    /// The condition of a match arm: a mutant is `true` or `false`.
    Guard,
    /// After the pattern of a match arm without a condition. The mutant never matches.
    Arm,
    /// The beginning of a function's body. A mutant is a return value.
    Body,
}

impl Form {
    /// cargo-mutants' name for this kind of mutants.
    pub fn genre(&self) -> &'static str {
        match self {
            Form::Binary { .. } => "BinaryOperator",
            Form::Unary { .. } => "UnaryOperator",
            Form::Field { .. } => "StructField",
            Form::Guard => "MatchArmGuard",
            Form::Arm => "MatchArm",
            Form::Body => "FnValue",
        }
    }
}

/// A place in a file.
#[derive(Debug)]
pub struct Site {
    /// Beginning of cargo-mutants' mutants of this place: line and column, from 1.
    pub begins: (usize, usize),
    /// The replaced text (empty: text is inserted).
    pub range: Range<usize>,
    /// Form of the change.
    pub form: Form,
}

/// Finds all sites of a file.
///
/// # Errors
/// If the text is not Rust.
pub fn sites(text: &str) -> Result<Vec<Site>, syn::Error> {
    let mut finder = Finder { text, sites: vec![] };
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.sites)
}

struct Finder<'a> {
    text: &'a str,
    sites: Vec<Site>,
}

fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

impl Finder<'_> {
    fn site(&mut self, begins: Span, range: Range<usize>, form: Form) {
        let begins = (begins.start().line, begins.start().column + 1);
        self.sites.push(Site { begins, range, form });
    }

    fn body(&mut self, block: &syn::Block) {
        if let Some(first) = block.stmts.first() {
            let at = range(block.brace_token.span.open()).end;
            self.site(first.span(), at..at, Form::Body);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() {
            self.body(&item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(block);
            visit::visit_trait_item_fn(self, item);
        }
    }

    // The compiler evaluates it.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if !has_let(&expr.left) && !has_let(&expr.right) {
            let (left, right) = (range(expr.left.span()), range(expr.right.span()));
            let op = expr.op.to_token_stream().to_string();
            let form = Form::Binary { left, right, op };
            self.site(expr.op.span(), range(expr.span()), form);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        if matches!(expr.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let form = Form::Unary { part: range(expr.expr.span()) };
            self.site(expr.span(), range(expr.span()), form);
        }
        visit::visit_expr_unary(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                self.site(guard.span(), range(guard.span()), Form::Guard);
            }
            None => {
                let at = range(arm.pat.span()).end;
                self.site(arm.span(), at..at, Form::Arm);
            }
            _ => {}
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        if let Some(rest) = &expr.rest {
            let base = match &self.text[range(rest.span())] {
                "Default::default()" => {
                    format!("{}::default()", &self.text[range(expr.path.span())])
                }
                base => format!("({base})"),
            };
            for field in expr.fields.iter().filter(|field| field.colon_token.is_some()) {
                if let syn::Member::Named(name) = &field.member {
                    let form = Form::Field { filled: format!("{base}.{name}") };
                    self.site(field.span(), range(field.expr.span()), form);
                }
            }
        }
        visit::visit_expr_struct(self, expr);
    }
}

/// Whether an expression binds names, so that it cannot be put into another expression.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}
