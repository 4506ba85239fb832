// What needs a trusted workspace. Analysis opens no socket and starts no process, so it works everywhere; what runs code
// or compilers does not.

const RUNS_THINGS: readonly string[] = ["warpwright.verify", "warpwright.profile"];

export function needsTrust(command: string): boolean {
  return RUNS_THINGS.includes(command);
}
