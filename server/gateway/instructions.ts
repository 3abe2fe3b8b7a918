/**
 * Instructions of one server, to stand below its name. Each of its lines is quoted: whatever it begins
 * (headings of any kind, tags, fences of code) ends with the quotation, and is nobody else's.
 */
export function quotedInstructions(name: string, instructions: string): string {
  const lines = instructions.trim().split(/\r\n?|[\n\v\f\u0085\u2028\u2029]/)
  return [`# ${name}`, '', ...lines.map((line) => `> ${line}`.trimEnd())].join('\n')
}
