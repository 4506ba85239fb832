// Choosing among the code actions that the server offers at the cursor. What an action does is the server's business.

export interface ActionLike {
  readonly title: string;
  readonly kind?: { readonly value: string } | undefined;
  readonly command?: { readonly command: string } | undefined;
  readonly disabled?: { readonly reason: string } | undefined;
}

export interface Wish {
  /** What the user asked for, as the end of "There is nothing to … here". */
  readonly verb: string;
  readonly kind: string;
  /** The server's command that does the same, when the action is a command and not an edit. */
  readonly command: string;
  /** How the titles begin, where the kind is one that many actions have. */
  readonly title?: string;
}

export const WISHES = {
  offload: { verb: "offload", kind: "refactor.rewrite.warpwright.offload", command: "warpwright.offload" },
  mark: { verb: "mark", kind: "refactor.rewrite.warpwright.mark", command: "warpwright.mark" },
  unmark: { verb: "unmark", kind: "quickfix", command: "warpwright.unmark", title: "Remove the GPU mark" },
  verify: { verb: "verify", kind: "refactor.rewrite.warpwright.verify", command: "warpwright.verify" },
  explain: { verb: "explain", kind: "refactor.rewrite.warpwright.explain", command: "warpwright.explain" },
} as const satisfies Record<string, Wish>;

/** The actions that fulfill the wish: by kind (also a finer one, `….offload.2d`) or by command. */
export function fulfilling<A extends ActionLike>(actions: readonly A[], wish: Wish): A[] {
  return actions.filter((a) => {
    const kind = a.kind?.value ?? "";
    const ofKind = kind === wish.kind || kind.startsWith(wish.kind + ".");
    return (ofKind && (wish.title === undefined || a.title.startsWith(wish.title))) || a.command?.command === wish.command;
  });
}

export type Choice<A> =
  | { readonly kind: "none"; readonly message: string }
  | { readonly kind: "one"; readonly action: A }
  | { readonly kind: "several"; readonly actions: A[] };

export function choose<A extends ActionLike>(actions: readonly A[], wish: Wish): Choice<A> {
  const fitting = fulfilling(actions, wish);
  const enabled = fitting.filter((a) => a.disabled === undefined);
  const [first] = enabled;
  if (first === undefined) {
    const reason = fitting.find((a) => a.disabled !== undefined)?.disabled?.reason;
    return { kind: "none", message: reason ?? `There is nothing to ${wish.verb} at the cursor. Put it on a loop's first line; the hover there says what the loop allows.` };
  }
  return enabled.length === 1 ? { kind: "one", action: first } : { kind: "several", actions: enabled };
}
