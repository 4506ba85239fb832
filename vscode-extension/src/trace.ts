// The protocol library writes its trace only where the channel's log level is "trace", which users set far away from our
// settings. This channel answers with the level that `warpwright.trace.server` asks for, so that the setting alone acts.

import * as vscode from "vscode";

export interface TraceChannel {
  readonly channel: vscode.LogOutputChannel;
  /** To be called when the configuration changed. */
  readonly refresh: () => void;
}

export function traceChannel(name: string): TraceChannel {
  const inner = vscode.window.createOutputChannel(name, { log: true });
  const changed = new vscode.EventEmitter<vscode.LogLevel>();
  const level = (): vscode.LogLevel => (asked() === "off" ? inner.logLevel : vscode.LogLevel.Trace);
  const channel = new Proxy(inner, {
    get(target, key) {
      switch (key) {
        case "logLevel":
          return level();
        case "onDidChangeLogLevel":
          return changed.event;
        case "trace":
          return asked() === "off" ? target.trace.bind(target) : target.info.bind(target);
        case "dispose":
          return () => {
            changed.dispose();
            target.dispose();
          };
        default: {
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        }
      }
    },
  });
  return { channel, refresh: () => changed.fire(level()) };
}

function asked(): string {
  return vscode.workspace.getConfiguration("warpwright").get("trace.server", "off");
}
