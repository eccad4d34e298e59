// Copying text to the clipboard.

/** How long "Copied" stays. */
const SHOWN_MS = 2000;

let copyText = (_text: string): Promise<boolean> => Promise.resolve(false);

/** Says who copies: the shell, as WebKit lets a page do so only while it handles a click. */
export function copyBy(copy: typeof copyText): void {
  copyText = copy;
}

/** What a button copies, and whether it has just done so. */
export class Copied {
  #is = $state(false);

  get is(): boolean {
    return this.#is;
  }

  /** False if the text could not be copied. */
  async take(text: string): Promise<boolean> {
    this.#is = await copyText(text);
    if (this.#is) setTimeout(() => (this.#is = false), SHOWN_MS);
    return this.#is;
  }
}
