import { type ToolContext, ToolError } from 'caduceus'

/** The arguments are checked, and `ctx` does all that it does elsewhere. */
export default function matches({ pattern, text }: { pattern: string; text: string }, ctx: ToolContext) {
  ctx.progress(0, 1, pattern)
  try {
    return new RegExp(pattern).test(text)
  } catch {
    throw new ToolError('This is no regular expression.')
  }
}
