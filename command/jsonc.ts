import { isObject } from '../protocol/wire/json.js'
import { messageOf } from '../runtime/base/errors.js'
import { UsageError } from './usage-error.js'

const text = '"(?:[^"\\\\\\n]|\\\\.)*"'
const comment = new RegExp(`${text}|//[^\\n]*|/\\*[^]*?\\*/`, 'g')
const trailingComma = new RegExp(`${text}|,(?=\\s*[}\\]])`, 'g')

/** Reads JSON with comments and trailing commas, as hosts write it; `where` names it. Throws UsageError. */
export function parseJsonc(source: string, where: string): Record<string, unknown> {
  const keepTexts = (found: string) => (found.startsWith('"') ? found : '')
  const plain = source
    .replace(/^\uFEFF/, '')
    .replace(comment, keepTexts)
    .replace(trailingComma, keepTexts)
  let value: unknown
  try {
    value = JSON.parse(plain.trim() === '' ? '{}' : plain)
  } catch (error) {
    throw new UsageError(`${where} is no JSON (${messageOf(error)}): mend the file`)
  }
  if (isObject(value)) return value
  throw new UsageError(`${where}: expected an object with mcpServers or servers`)
}
