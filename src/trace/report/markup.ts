/**
 * HTML text that is safe by construction: `markup` escapes every value put into it, except what is Markup already. Names of
 * functions, files and commands come from outside, and report.html is opened in a browser.
 *
 * Characters that XML forbids, and those that turn the direction of text around them, become U+FFFD: they are no part of an honest name.
 */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

export type MarkupValue = string | number | Markup | readonly Markup[];

export const noMarkup = new Markup('');

/** For element content and for attributes in double quotes; nowhere else. */
export function markup(parts: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += textOf(value) + (parts[index + 1] ?? '');
  });
  return new Markup(text);
}

function textOf(value: MarkupValue): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'number' || typeof value === 'string') return escaped(String(value));
  return value.map((part) => part.text).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters but tab, LF and CR; lone surrogates; U+FFFE and U+FFFF; the bidirectional overrides and isolates. */
const forbidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

function escaped(text: string): string {
  return text.replace(forbidden, '\ufffd').replace(/[&<>"']/g, (found) => entities[found] ?? found);
}
