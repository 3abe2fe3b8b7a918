// How the site looks and what it finds; `scripts/docs.mjs` gives what depends on the build.
import { contents } from './contents.mjs'
import { searchOptions } from './search.mjs'
import { placeOf, titleOf } from './pages.mjs'

const guides = contents.map(({ title, pages }, index) => ({
  text: title,
  collapsed: index > 0,
  items: pages.map((path) => item(titleOf(path), placeOf(path))),
}))
guides.find(({ text }) => text === 'Reference').items.push(item('Options', 'options.md'))

/** The settings of VitePress for a site below `base` whose doors have these symbols. */
export function siteConfig({ base, version, doors }) {
  return {
    base,
    title: 'Caduceus',
    titleTemplate: ':title | Caduceus',
    description: 'MCP clients and servers for Node as supervised processes: whatever dies comes back.',
    lang: 'en',
    metaChunk: true,
    head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}icon.svg` }]],
    markdown: { config: diagrams, languageAlias: { haproxy: 'nginx' } },
    vite: { build: { chunkSizeWarningLimit: 4_000 }, logLevel: 'warn' },
    transformPageData: ({ relativePath }) =>
      // the page of a door has a heading for each name that comes from another one
      /^api\/.*index\.md$/.test(relativePath) ? { frontmatter: { outline: 2 } } : undefined,
    themeConfig: {
      logo: '/icon.svg',
      outline: { level: [2, 3] },
      externalLinkIcon: true,
      search: { provider: 'local', options: searchOptions },
      nav: [
        { text: 'Tutorial', link: '/server/guide/tutorial' },
        { text: 'Guide', link: '/overview' },
        { text: 'Command', link: '/command/' },
        { text: 'API', link: '/api/' },
        { text: version, link: '/changelog' },
      ],
      sidebar: {
        '/': [{ text: 'Overview', link: '/overview' }, ...guides],
        ...Object.fromEntries(
          doors.map(({ place, ...door }) => [`/${place}/`, [api(doors), sidebarOf(place, door)]]),
        ),
        '/api/': [api(doors)],
      },
    },
  }
}

function api(doors) {
  return { text: 'API', items: doors.map(({ name, place }) => ({ text: name, link: `/${place}/` })) }
}

/** What is called: the page of a door has a table of everything, and each page of the site has this list. */
function sidebarOf(place, { name, groups }) {
  return {
    text: name,
    items: groups
      .filter(({ folder }) => folder === 'functions' || folder === 'classes')
      .map(({ title, folder, symbols }) => ({
        text: title,
        collapsed: false,
        items: symbols.map((symbol) => ({ text: symbol, link: `/${place}/${folder}/${symbol}` })),
      })),
  }
}

function item(text, place) {
  return { text, link: `/${place.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}` }
}

/** A block of code in the language `mermaid` is a picture. */
function diagrams(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index]
    if (info.trim() !== 'mermaid') return fence(tokens, index, ...rest)
    return `<Diagram code="${encodeURIComponent(content)}" />`
  }
}
