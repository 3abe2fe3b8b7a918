// The pages of the documentation: in which order, under which title.
import { floors, listFiles, repository } from '../house/sources.mjs'

const told = [
  {
    title: 'First hour',
    pages: ['server/guide/tutorial.md', 'runtime/guide/why.md', 'transports/guide/choose.md'],
  },
  {
    title: 'Servers',
    pages: [
      ...guide('server', 'tools content resources completion elicit sample progress log'),
      ...guide(
        'server',
        'state engines lifespan hooks scopes authenticate add-tool tasks isolation processes cluster own-engine',
      ),
      ...guide(
        'server',
        'recipes hosts login providers tutorial-login gateway openapi testing mistakes best-practices',
      ),
      'server/gateway/logins.md',
      'server/gateway/trust.md',
      'server/gateway/audit.md',
      'server/README.md',
      'server/extensions.md',
    ],
  },
  {
    title: 'Clients',
    pages: [
      ...guide(
        'client',
        'one-off calls retry answers notifications types many pool share sign-in models tree watch',
      ),
      'client/README.md',
    ],
  },
  { title: 'Transports', pages: [...guide('transports', 'mount websocket'), 'transports/README.md'] },
  {
    title: 'Runtime',
    pages: [
      ...guide('runtime', 'actors supervisors groups tasks peers look-inside time'),
      'runtime/README.md',
      'runtime/otp.md',
    ],
  },
  {
    title: 'Protocol',
    pages: [...guide('protocol', 'messages streams revisions stateless schemas'), 'protocol/README.md'],
  },
  {
    title: 'Operating',
    pages: [
      ...guide('server', 'deployment bundling runtimes fetch fetch-tokens functions'),
      'server/guide/deploy/README.md',
      ...guide('transports', 'live-view telemetry'),
      'client/guide/troubleshooting.md',
      'command/README.md',
    ],
  },
  { title: 'Coming from', pages: ['server/from-the-sdk.md', ...guide('server', 'from-fastmcp from-hermes')] },
  {
    title: 'Reference',
    pages: [
      'server/guide/promises.md',
      'protocol/names.md',
      'protocol/errors.md',
      'runtime/guide/versions.md',
      'runtime/guide/glossary.md',
      '.github/CONTRIBUTING.md',
      '.github/SECURITY.md',
      'CHANGELOG.md',
    ],
  },
]
const listed = new Set(told.flatMap(({ pages }) => pages))
const rooms = floors
  .flatMap((floor) => listFiles(repository, floor))
  .filter((path) => path.endsWith('.md') && !listed.has(path))

/** The groups of pages; the last one has all pages about the rooms of the code. */
export const contents = [...told, { title: 'How it works', pages: rooms }]

/** All pages but the first one, in their order. */
export const everyPage = contents.flatMap(({ pages }) => pages)

function guide(floor, names) {
  return names.split(' ').map((name) => `${floor}/guide/${name}.md`)
}
