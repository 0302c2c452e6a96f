/**
 * Faults of one input, collected so that a user sees all of them at once. The words of the first few are kept, the rest counted:
 * a file of a million bad lines must not fill the memory.
 */

export const faultsShownMax = 20;

export class FaultList {
  readonly #shown: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param line from 1; undefined for a fault of no line, such as an option's. */
  add(line: number | undefined, fault: string): void {
    this.#count += 1;
    if (this.#shown.length < faultsShownMax) {
      this.#shown.push(line === undefined ? fault : `line ${line}: ${fault}`);
    }
  }

  text(): string {
    const hidden = this.#count - this.#shown.length;
    return this.#shown.join('; ') + (hidden > 0 ? `; and ${hidden} more` : '');
  }
}
