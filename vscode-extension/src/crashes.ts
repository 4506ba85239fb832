// When a server that went away is started again. A server that falls over at once on every start must not be restarted
// for ever; one that falls over once a day should not even be noticed.

export const WINDOW_MS = 3 * 60 * 1000;
export const RESTARTS_IN_WINDOW = 4;

export class Crashes {
  #times: number[] = [];

  /** Notes a crash at `now` (milliseconds) and says whether to start again. */
  record(now: number): "restart" | "give-up" {
    this.#times = this.#times.filter((t) => now - t < WINDOW_MS);
    this.#times.push(now);
    return this.#times.length <= RESTARTS_IN_WINDOW ? "restart" : "give-up";
  }

  /** The user asked for a start: the past is forgiven. */
  forget(): void {
    this.#times = [];
  }
}
