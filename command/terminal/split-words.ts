/** The words of a line: quotes keep spaces together, and a JSON object is one word. */
export function splitWords(line: string): string[] {
  const at = line.indexOf(' {')
  // the rest of the line is the object, quotes and all
  if (at >= 0 && line.trimEnd().endsWith('}'))
    return [...splitWords(line.slice(0, at)), line.slice(at + 1).trim()]
  const words = line.match(/(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+|["']\S*/g) ?? []
  return words.map((word) =>
    word.replace(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) =>
        double === undefined ? (single ?? '') : double.replace(/\\(["\\])/g, '$1'),
    ),
  )
}
