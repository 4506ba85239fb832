// What the status item says. States in, words out.

export type ServerState =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly version: string }
  | { readonly kind: "stopped" }
  | { readonly kind: "crashed"; readonly restarting: boolean }
  | { readonly kind: "missing"; readonly message: string };

export interface Shown {
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "normal" | "warning" | "error";
}

/** `notRead`: the language of the document that is looked at, if Warpwright reads none of it. */
export function shown(state: ServerState, trusted: boolean, notRead?: string): Shown {
  switch (state.kind) {
    case "starting":
      return { text: "$(loading~spin) Warpwright", tooltip: "Warpwright is starting.", severity: "normal" };
    case "running": {
      const version = state.version === "" ? "" : ` ${state.version}`;
      if (notRead !== undefined) {
        const tooltip = `Warpwright does not read ${notRead} yet: nothing is said of this document. Click for the menu.`;
        return { text: `$(circle-slash) Warpwright: no ${notRead}`, tooltip, severity: "normal" };
      }
      const trust = trusted ? "" : " This folder is not trusted: kernels are not run.";
      return { text: "$(zap) Warpwright", tooltip: `Warpwright${version} is running.${trust} Click for the menu.`, severity: "normal" };
    }
    case "stopped":
      return { text: "$(circle-slash) Warpwright", tooltip: "Warpwright is stopped. Click for the menu.", severity: "warning" };
    case "crashed":
      return state.restarting
        ? { text: "$(loading~spin) Warpwright", tooltip: "The server ended unexpectedly and is being started again.", severity: "warning" }
        : { text: "$(error) Warpwright", tooltip: "The server ended unexpectedly several times and was left stopped. Click for the menu.", severity: "error" };
    case "missing":
      return { text: "$(error) Warpwright", tooltip: state.message, severity: "error" };
    default:
      return never(state);
  }
}

function never(state: never): never {
  throw new Error(`unknown state ${JSON.stringify(state)}`);
}
