const steering =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/**
 * A text without what would steer a terminal or change the order of what is read: C0 but newline and tab, DEL,
 * C1, separators of lines and paragraphs, marks and controls of direction (Unicode, UAX #9), tags. `instead` says
 * what stands for one of them. Default: nothing.
 */
export function unsteered(text: string, instead: (found: string) => string = () => ''): string {
  return text.replace(steering, instead)
}

/** A JSON text of the same value that is one line for everybody, and steers no terminal. */
export function steadyJson(text: string): string {
  return text.replace(
    /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
