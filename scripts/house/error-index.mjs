// The page that lists every error code: made from the unions of codes and the sentences above their members.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript5'
import { remedyOf } from './error-remedies.mjs'
import { floors } from './sources.mjs'

/** Where the page is, relative to the root. */
export const errorPage = 'protocol/errors.md'

/** Where the codes of each floor are, lowest floor first. */
const errorFiles = [
  'runtime/base/errors.ts',
  'protocol/wire/errors.ts',
  'transports/base/errors.ts',
  'server/base/errors.ts',
  'client/base/errors.ts',
]
const rebuild = 'node scripts/error-index.mjs'
const intro = `# Errors by code

<!-- made by \`${rebuild}\` from the sentences above the codes in the \`errors.ts\` of each floor, and scripts/house/error-remedies.mjs -->

Every error of this library is an instance of \`CaduceusError\` and has a stable \`code\`, \`retryable\` (whether the same request may succeed when it is made
again), \`cause\` (what led to it), and \`data\` with facts that a program can act on. Each floor has one class; \`ToolError\` and \`AskError\` are ServerErrors. The
error of a call on a client has \`data.sent\`: whether the request left, so that the server may have acted on it. What the far side answered is an \`McpError\`, whose code
is the integer of the protocol.
`

/**
 * Reads the codes of a root; returns the text of the page, undefined where there are no codes or one lacks its
 * sentence or remedy, and `{ path, line, text }` findings.
 */
export function readErrorIndex(root) {
  const found = errorFiles
    .filter((path) => existsSync(join(root, path)))
    .map((path) => readErrors(path, readFileSync(join(root, path), 'utf8')))
  const codes = found.flatMap(({ codes }) => codes)
  const numbers = found.flatMap(({ numbers }) => numbers)
  const told = (entries, text) =>
    entries.map(({ path, line, name }) => ({ path, line, text: `${name} ${text}` }))
  const findings = [
    ...told(
      [...codes, ...numbers].filter(({ when }) => when === undefined),
      'has no sentence that says when it is thrown',
    ),
    ...told(
      codes.filter((code) => remedyOf(code) === undefined),
      'has no remedy in scripts/house/error-remedies.mjs',
    ),
  ]
  const isWhole = codes.length > 0 && findings.length === 0
  return { text: isWhole ? writePage(codes, numbers) : undefined, findings }
}

/** What is wrong with the codes of a root and with the page, as findings. */
export function checkErrorIndex(root) {
  const { text, findings } = readErrorIndex(root)
  if (text === undefined) return findings
  const page = join(root, errorPage)
  if (existsSync(page) && readFileSync(page, 'utf8') === text) return []
  return [{ path: errorPage, line: 1, text: `is not what the errors.ts of the floors say: run ${rebuild}` }]
}

function readErrors(path, source) {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS)
  const codes = []
  const numbers = []
  for (const statement of file.statements) {
    if (ts.isTypeAliasDeclaration(statement)) codes.push(...readUnion(path, file, statement))
    if (ts.isVariableStatement(statement)) numbers.push(...readNumbers(path, file, statement))
  }
  return { codes, numbers }
}

/** `export type XErrorCode = 'A' | 'B' | ...`: the codes of the class `XError`. */
function readUnion(path, file, { name, type }) {
  if (!/ErrorCode$/.test(name.text)) return []
  const members = ts.isUnionTypeNode(type) ? type.types : [type]
  return members
    .filter((member) => ts.isLiteralTypeNode(member) && ts.isStringLiteral(member.literal))
    .map((member) => ({
      path,
      line: lineOf(file, member),
      name: member.literal.text,
      class: name.text.replace(/Code$/, ''),
      when: sentenceBefore(file, member),
    }))
}

/** `export const errorCodes = Object.freeze({ name: -1, ... })`: the integers of the protocol. */
function readNumbers(path, file, { declarationList }) {
  const [declaration] = declarationList.declarations
  if (declaration?.name.getText(file) !== 'errorCodes' || !declaration.initializer) return []
  const call = declaration.initializer
  const object = ts.isCallExpression(call) ? call.arguments[0] : call
  if (!object || !ts.isObjectLiteralExpression(object)) return []
  return object.properties.filter(ts.isPropertyAssignment).map((property) => ({
    path,
    line: lineOf(file, property),
    name: property.name.getText(file),
    code: property.initializer.getText(file),
    when: sentenceBefore(file, property),
  }))
}

/** The doc comment directly before a node, as one line. A member of a union begins after its bar, and the comment stands before that. */
function sentenceBefore(file, node) {
  const before = file.text
    .slice(0, node.getStart(file, false))
    .replace(/\|\s*$/, '')
    .trimEnd()
  const comment = before.endsWith('*/') ? before.slice(before.lastIndexOf('/**')) : undefined
  if (comment === undefined || !comment.startsWith('/**')) return undefined
  const text = comment.slice(3, -2).replace(/^\s*\* ?/gm, '')
  return text.replace(/\s+/g, ' ').trim() || undefined
}

function writePage(codes, numbers) {
  const rows = [...codes].sort((a, b) => compare(a.name, b.name) || floorOrder(a) - floorOrder(b))
  const numbered = [...numbers].sort((a, b) => Number(a.code) - Number(b.code))
  return [
    intro,
    table(
      ['code', 'class', 'when', 'what to do'],
      rows.map((row) => [`\`${row.name}\``, linkTo(row), row.when, remedyOf(row)]),
    ),
    '## Codes of an `McpError`',
    'What the far side answered, and what a handler may answer with `throw new McpError(code, message, { data })`. Other servers have others.\n',
    table(
      ['code', 'name in `errorCodes`', 'when'],
      numbered.map((row) => [`\`${row.code}\``, `\`${row.name}\``, row.when]),
    ),
  ].join('\n')
}

function table(heads, rows) {
  const lines = [heads, heads.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.map(escapeBars).join(' | ')} |`,
  )
  return `${lines.join('\n')}\n`
}

function escapeBars(cell) {
  return cell.replaceAll('|', '\\|')
}

function linkTo({ class: name, path }) {
  return `[\`${name}\`](../${path})`
}

function floorOrder({ path }) {
  return floors.indexOf(path.split('/')[0])
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

function lineOf(file, node) {
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
}
