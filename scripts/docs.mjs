// npm run docs: site/, the documentation as files: open site/index.html, or put the folder onto any web server.
//   node scripts/docs.mjs [--out folder]
// Pages are the Markdown beside the code; those of the API come from the docstrings. TypeDoc builds them.
import { cpSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { contents, everyPage } from './docs/contents.mjs'
import { install } from './docs/install.mjs'
import { writeTexts } from './docs/llms.mjs'
import { optionsPage } from './docs/options.mjs'
import { weighResults } from './docs/search.mjs'
import { doors } from './house/entries.mjs'
import { repository } from './house/sources.mjs'

process.exitCode = await main()

async function main() {
  const { values } = parseArgs({ options: { out: { type: 'string', default: join(repository, 'site') } } })
  const out = resolve(values.out)
  const { typedoc, mermaid } = await install()
  const app = await typedoc.Application.bootstrap(settings(out), [new typedoc.TSConfigReader()])
  arrange(app, typedoc)
  const project = await app.convert()
  if (project === undefined) return 1
  rmSync(out, { recursive: true, force: true })
  await app.generateOutputs(project)
  cpSync(mermaid, join(out, 'assets', 'mermaid.js'))
  writeTexts(out, optionsPage(project)[0].text)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) {
    console.error('docs: what is above is wrong; links lead to pages of scripts/docs/contents.mjs')
    return 1
  }
  console.log(`docs: ${join(out, 'index.html')}`)
  return 0
}

function settings(out) {
  const here = (path) => join(repository, path)
  return {
    name: 'Caduceus',
    entryPoints: doors.map(here),
    basePath: repository,
    tsconfig: here('tsconfig.json'),
    skipErrorChecking: true, // `npm run check` does that, with the TypeScript of the project
    readme: here('README.md'),
    projectDocuments: everyPage.map(here),
    customJs: here('scripts/docs/site.js'),
    customCss: here('scripts/docs/site.css'),
    out,
    plugin: [],
    disableGit: true,
    disableSources: true,
    excludeInternal: true,
    excludeExternals: true,
    includeVersion: true,
    searchInDocuments: true,
    sortEntryPoints: false,
    sort: ['kind', 'alphabetical-ignoring-documents'],
    navigation: { includeGroups: true },
    groupOrder: [...contents.map(({ title }) => title), 'Modules', '*'],
    highlightLanguages: [
      'ts',
      'js',
      'json',
      'jsonc',
      'bash',
      'sh',
      'yaml',
      'docker',
      'nginx',
      'ini',
      'python',
      'text',
    ],
    ignoredHighlightLanguages: ['mermaid', 'haproxy'],
    validation: { notExported: false, invalidLink: true, rewrittenLink: false, invalidPath: true },
    hideGenerator: true,
    headings: { readme: false },
    includeHierarchySummary: false,
    logLevel: 'Warn',
  }
}

/** Gives pages their title and their place, and modules the names that programs import. */
function arrange(app, typedoc) {
  const { Converter, DocumentReflection, ReflectionKind } = typedoc
  const paths = new Map()
  weighResults(app, typedoc, (found) => paths.get(found))
  const queue = contents.flatMap(({ title, pages }) => pages.map((path) => ({ group: title, path })))
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, page) => {
    const place = queue.shift()
    if (place === undefined) return
    page.name = titleOf(page, place.path)
    page.frontmatter.group = place.group
    paths.set(page, place.path)
  })
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, declaration) => {
    if (declaration.kindOf(ReflectionKind.Module)) declaration.name = moduleName(declaration.name)
  })
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const page = new DocumentReflection('Options', project, optionsPage(project), { group: 'Reference' })
    project.registerReflection(page, undefined, undefined)
    project.addChild(page)
  })
}

/** The page of a room is found by the room's name, others by their heading. */
function titleOf(page, path) {
  if (/^\w+\/.+\/README\.md$/.test(path)) return dirname(path)
  const [first] = page.content
  return /^# (.+)$/m.exec(first?.text ?? '')?.[1]?.replaceAll('`', '') ?? page.name
}

/** `runtime/index` is imported as `caduceus/runtime`. */
function moduleName(path) {
  const door = path.replace(/\/?index$/, '')
  return door === '' ? 'caduceus' : `caduceus/${door}`
}
