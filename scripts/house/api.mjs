// The public API as text: a report for each door, and the table of all names.
import { rmSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import ts from '@typescript/typescript6'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { reports } from './api-digest.mjs'
import { declarationsOf } from './declarations.mjs'
import { doors } from './entries.mjs'

/** The page with all names. */
export const namesPage = 'protocol/names.md'
const scratch = '.t/api'
const printer = ts.createPrinter({ removeComments: true })

/**
 * What the doors declare now: path of a report, or of the page of names, to text. Undefined when tsc has said
 * what is wrong.
 */
export async function readApi(root) {
  const folder = join(root, scratch)
  try {
    if (!declarationsOf(root, 'scripts/tsconfig.build.json', folder)) return undefined
    const all = []
    for (const door of doors) all.push({ ...(await readDoor(folder, door)), door: doorOf(door) })
    return new Map([
      ...all.map((read) => [`${reports}/${fileOf(read.door)}.md`, reportOf(read, all)]),
      [namesPage, namesOf(all)],
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The declarations of one door, without those of other floors, and the names that it exports. */
async function readDoor(folder, door) {
  const input = join(folder, door.replace(/\.ts$/, '.d.ts'))
  const floor = door.includes('/') ? door.split('/')[0] : undefined
  const external = (id, importer) => {
    if (id.startsWith('.'))
      return floor !== undefined && floorOf(folder, resolve(dirname(importer), id)) !== floor
    return !isAbsolute(id)
  }
  const bundle = await rollup({ input, external, plugins: [dts()], onwarn: () => {} })
  const { output } = await bundle.generate({ format: 'es' })
  await bundle.close()
  const file = ts.createSourceFile(door, output[0].code, ts.ScriptTarget.Latest, true)
  const exported = new Map(file.statements.filter(ts.isExportDeclaration).flatMap(namesIn))
  const declared = file.statements.filter(
    (one) => !ts.isExportDeclaration(one) && !ts.isImportDeclaration(one),
  )
  return { file, floor, exported, declared }
}

function floorOf(folder, path) {
  return relative(folder, path).split(sep)[0]
}

/** Exported name to the name of its declaration. */
function namesIn({ exportClause }) {
  return exportClause.elements.map(({ name, propertyName }) => [name.text, (propertyName ?? name).text])
}

function doorOf(path) {
  const door = path.replace(/(?:\/?index)?\.ts$/, '')
  return door === '' ? 'caduceus' : `caduceus/${door}`
}

function fileOf(door) {
  return door.split('/')[1] ?? door
}

/**
 * A door that is no floor's says of each name where it is declared, and declares what no floor's door does.
 */
function reportOf({ door, file, floor, exported, declared }, all) {
  const others = floor === undefined ? all.filter((one) => one.floor !== undefined) : []
  const elsewhere = (name) => others.find((one) => one.exported.has(name))?.door
  const listed = [...exported.keys()].sort()
  const told = listed.filter(elsewhere).map((name) => `- ${name}: ${elsewhere(name)}`)
  const texts = declared
    .filter((statement) => floor !== undefined || namesOfStatement(statement).some((name) => isOwn(name)))
    .map((statement) => ({
      name: namesOfStatement(statement)[0] ?? '',
      text: textOf(statement, file, exported),
    }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.text, b.text))
  function isOwn(name) {
    return [...exported].some(([shown, own]) => own === name && elsewhere(shown) === undefined)
  }
  const renamed = [...exported].filter(([name, own]) => name !== own && !elsewhere(name))
  return [
    `# ${door}\n`,
    `What it declares: \`npm run api\` writes this page. Names without \`export\` are seen through others.\n`,
    ...(told.length === 0 ? [] : [`${told.join('\n')}\n`]),
    '```ts',
    ...texts.map(({ text }) => text),
    ...renamed.map(([name, own]) => `export { ${own} as ${name} }`).sort(),
    '```\n',
  ].join('\n')
}

function namesOfStatement(statement) {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.text)
  return statement.name === undefined ? [] : [statement.name.text]
}

function textOf(statement, file, exported) {
  const text = printer.printNode(ts.EmitHint.Unspecified, statement, file).replace(/^declare /, '')
  const shown = namesOfStatement(statement).some((name) => exported.get(name) === name)
  return `${shown ? 'export ' : ''}${text}`
}

function namesOf(all) {
  const everything = all.flatMap(({ declared }) => declared)
  const parts = all.map(({ door, exported, declared }) => {
    const rows = [...exported]
      .sort(([a], [b]) => compare(a, b))
      .map(([name, own]) => {
        const statement = declarationOf(own, declared) ?? declarationOf(name, everything)
        return `| \`${name}\` | ${kindOf(statement)} | ${firstSentence(statement)} |`
      })
    return [`## ${door}\n`, '| name | | what it is for |', '| --- | --- | --- |', ...rows, ''].join('\n')
  })
  return `# All names\n\nWhat each door exports, and what it is for, by the first sentence of its docstring. \`npm run api\` writes this page.\n\n${parts.join('\n')}`
}

function declarationOf(name, declared) {
  return declared.find((one) => namesOfStatement(one).includes(name))
}

function kindOf(statement) {
  if (statement === undefined) return ''
  if (ts.isClassDeclaration(statement)) return 'class'
  if (ts.isFunctionDeclaration(statement)) return 'function'
  return ts.isVariableStatement(statement) ? 'value' : 'type'
}

function firstSentence(statement) {
  const [doc] = statement === undefined ? [] : ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)
  const text = (ts.getTextOfJSDocComment(doc?.comment) ?? '').replaceAll(/\s+/g, ' ').trim()
  return (/^.*?[.!?](?= [A-Z`]|$)/.exec(text)?.[0] ?? text).replaceAll('|', '\\|')
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}
