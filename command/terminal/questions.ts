import type { AnswerOptions } from 'caduceus'
import type { ElicitForm, ElicitUrl } from 'caduceus/client'
import { firstLine } from './output.js'
import { columnsOf, oneLine, quoted } from './screen.js'
import type { Ask } from './terminal.js'

type Form = Parameters<ElicitForm>[0]
type FormField = Form['requestedSchema']['properties'][string]
type Value = string | number | boolean | string[]

/** Answers what a server asks during a call: by questions to a person, one line for each field. */
export function terminalAnswers(ask: Ask, show: (line: string) => void): AnswerOptions {
  const form: ElicitForm = async ({ message, requestedSchema }, { signal }) => {
    show(`The server asks (/decline refuses, /cancel gives up):\n${quoted(message)}`)
    const content: [name: string, value: Value][] = []
    for (const [name, field] of Object.entries(requestedSchema.properties)) {
      const isRequired = requestedSchema.required?.includes(name) === true
      const value = await askField(name, field, isRequired, (question) => ask(question, signal), show)
      if (value === 'decline' || value === 'cancel') return { action: value }
      if (value.given !== undefined) content.push([name, value.given])
    }
    return { action: 'accept', content: Object.fromEntries(content) }
  }
  const url: ElicitUrl = async (params, { signal }) => {
    show(`The server asks:\n${quoted(params.message)}`)
    const address = addressOf(params.url)
    if (address === undefined) {
      show('It names an address that is no page of the web, and is declined.')
      return { action: 'decline' }
    }
    show(`Open this address if you trust it: ${address}`)
    const answer = await ask('Done? [y/N] ', signal)
    return { action: /^y/i.test(answer ?? '') ? 'accept' : answer === undefined ? 'cancel' : 'decline' }
  }
  return { onElicit: { form, url } }
}

/**
 * As a browser would open it: letters that only look like others, and what cannot be seen, are encoded.
 * Undefined for a file, a script and the like.
 */
function addressOf(url: string): string | undefined {
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url).href : undefined
}

async function askField(
  name: string,
  field: FormField,
  isRequired: boolean,
  ask: (question: string) => Promise<string | undefined>,
  show: (line: string) => void,
): Promise<{ given: Value | undefined } | 'decline' | 'cancel'> {
  const words = wordsOf(field)
  const notes = [
    field.description,
    words && `one of ${words.join(', ')}`,
    !words && field.type !== 'string' && (field.type === 'boolean' ? 'y or n' : field.type),
    field.default !== undefined && `default ${field.default}`,
    !isRequired && 'may be left out',
  ].filter(Boolean)
  for (;;) {
    const line = await ask(questionOf(field.title ?? name, notes.join('; '), show))
    if (line === undefined || line.trim() === '/cancel') return 'cancel'
    if (line.trim() === '/decline') return 'decline'
    if (line === '' && field.default !== undefined) return { given: field.default }
    if (line === '' && !isRequired) return { given: undefined }
    const given = readField(line, field, words)
    if (given !== undefined) return { given }
    const expected = words ? `one of ${words.join(', ')}` : field.type
    show(`  ${JSON.stringify(line)} does not fit; expected:\n${quoted(oneLine(expected))}`)
  }
}

/** The prompt, in one line; a longer question is shown before it, with a bar at each line. */
function questionOf(title: string, notes: string, show: (line: string) => void): string {
  const question = oneLine(notes === '' ? title : `${title} (${notes})`)
  const columns = process.stderr.columns || 80
  if (columnsOf(question) < columns - 8) return `  ${question}: `
  show(quoted(question))
  const most = Math.min(40, columns - 8)
  const short = firstLine(oneLine(title), Math.max(1, most))
  return `  ${columnsOf(short) > most ? firstLine(short, Math.max(1, most >> 1)) : short}: `
}

function readField(line: string, field: FormField, words: readonly string[] | undefined): Value | undefined {
  if (field.type === 'array') {
    const chosen = line.split(/\s*,\s*/).filter((word) => word !== '')
    return chosen.every((word) => words?.includes(word)) ? chosen : undefined
  }
  if (field.type === 'boolean')
    return /^(?:y|yes|true)$/i.test(line) ? true : /^(?:n|no|false)$/i.test(line) ? false : undefined
  if (field.type === 'string') return line === '' || (words && !words.includes(line)) ? undefined : line
  const number = Number(line)
  const fits =
    line.trim() !== '' && (field.type === 'integer' ? Number.isInteger(number) : Number.isFinite(number))
  return fits ? number : undefined
}

function wordsOf(field: FormField): readonly string[] | undefined {
  if (field.type === 'array')
    return 'enum' in field.items ? field.items.enum : field.items.anyOf.map((choice) => choice.const)
  if ('enum' in field) return field.enum
  return 'oneOf' in field ? field.oneOf.map((choice) => choice.const) : undefined
}
