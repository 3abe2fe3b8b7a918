// npm run docs: site/, the documentation, to be put onto any web server.
//   node scripts/docs.mjs [--out folder] [--base /path/]
// Pages are the Markdown beside the code; those of the API come from the docstrings, by TypeDoc. VitePress makes
// the site of them.
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { install } from './docs/install.mjs'
import { writeTexts } from './docs/llms.mjs'
import { optionsPage } from './docs/options.mjs'
import { read, write, writePages } from './docs/pages.mjs'
import { doors } from './house/entries.mjs'
import { repository } from './house/sources.mjs'

/** Folders of the API's pages, in the order in which people read. */
const kinds = [
  ['functions', 'Functions'],
  ['classes', 'Classes'],
  ['interfaces', 'Interfaces'],
  ['type-aliases', 'Types'],
  ['variables', 'Constants'],
]

process.exitCode = await main()

async function main() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(repository, 'site') },
      base: { type: 'string', default: '/' },
    },
  })
  const out = resolve(values.out)
  const { typedoc, vitepress, mermaid } = await install()
  const source = mkdtempSync(join(repository, 'scripts', 'docs', '.site-'))
  try {
    const troubles = writePages(source)
    const api = await writeApi(typedoc, source)
    if (api === undefined) troubles.push('docstrings: see above')
    if (troubles.length > 0) {
      console.error(
        `docs: links lead to pages of scripts/docs/contents.mjs, and to files\n  ${troubles.join('\n  ')}`,
      )
      return 1
    }
    write(join(source, 'options.md'), api.options)
    cpSync(mermaid, join(source, 'public', 'mermaid.js'))
    for (const picture of ['transports/view/page/icon.svg', 'runtime/guide/crash-moving.svg'])
      cpSync(join(repository, picture), join(source, 'public', basename(picture)))
    configure(source, { base: values.base, version: versionOf(), doors: api.doors })
    rmSync(out, { recursive: true, force: true })
    await vitepress.build(source, { outDir: out })
    writeTexts(out, api)
  } finally {
    rmSync(source, { recursive: true, force: true })
  }
  console.log(`docs: ${join(out, 'index.html')}`)
  return 0
}

/** The pages of the API, and all options; undefined if a docstring is wrong. */
async function writeApi(typedoc, source) {
  const out = join(source, 'api')
  const app = await typedoc.Application.bootstrapWithPlugins(settings(out), [new typedoc.TSConfigReader()])
  const { Converter, ReflectionKind } = typedoc
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, declaration) => {
    if (declaration.kindOf(ReflectionKind.Module)) declaration.name = moduleName(declaration.name)
  })
  const project = await app.convert()
  if (project === undefined) return undefined
  await app.generateOutputs(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) return undefined
  return {
    options: optionsPage(project),
    doors: doors.map((door) => contentsOf(out, moduleName(door.replace(/\.ts$/, '')))),
  }
}

function settings(out) {
  const here = (path) => join(repository, path)
  return {
    name: 'API',
    entryPoints: doors.map(here),
    basePath: repository,
    tsconfig: here('tsconfig.json'),
    skipErrorChecking: true, // `npm run check` does that, with the TypeScript of the project
    readme: 'none',
    out,
    plugin: ['typedoc-plugin-markdown'],
    disableGit: true,
    disableSources: true,
    excludeInternal: true,
    excludeExternals: true,
    sortEntryPoints: false,
    sort: ['kind', 'alphabetical-ignoring-documents'],
    kindSortOrder: ['Module', 'Function', 'Class', 'Interface', 'TypeAlias', 'Variable', 'Reference'],
    validation: { notExported: false, invalidLink: true, rewrittenLink: false, invalidPath: true },
    hideGenerator: true,
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    pageTitleTemplates: { member: ({ name }) => name },
    useCodeBlocks: true,
    sanitizeComments: true,
    indexFormat: 'table',
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    logLevel: 'Warn',
  }
}

/** The symbols of a door, by the folders that TypeDoc has made for them. */
function contentsOf(api, name) {
  const groups = kinds
    .filter(([folder]) => existsSync(join(api, name, folder)))
    .map(([folder, title]) => ({
      title,
      folder,
      symbols: readdirSync(join(api, name, folder)).map((file) => file.slice(0, -3)),
    }))
  return { name, place: `api/${name}`, groups }
}

/** `runtime/index` is imported as `caduceus/runtime`. */
function moduleName(path) {
  const door = path.replace(/\/?index$/, '')
  return door === '' ? 'caduceus' : `caduceus/${door}`
}

function configure(source, given) {
  const config = `import { siteConfig } from '../../config.mjs'\n\nexport default siteConfig(${JSON.stringify(given)})\n`
  write(join(source, '.vitepress', 'config.mjs'), config)
  cpSync(join(repository, 'scripts', 'docs', 'theme'), join(source, '.vitepress', 'theme'), {
    recursive: true,
  })
}

function versionOf() {
  return JSON.parse(read('package.json')).version
}
