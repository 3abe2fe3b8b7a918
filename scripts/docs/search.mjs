// What the search of the site finds first: pages before symbols, by the words that people look for.
import { everyPage } from './contents.mjs'
import { placeOf } from './pages.mjs'

/** Words that people search for, and that a page does not have in its title. */
const words = {
  'server/guide/tutorial.md': 'how to getting started first server example hello world learn',
  'transports/guide/choose.md': 'http stdio streamable streaming sse transports choose',
  'server/guide/tools.md': 'how to add define a tool function zod schema structured output annotations',
  'server/guide/content.md': 'image audio file binary result content blob',
  'server/guide/resources.md': 'how to resource template subscribe file uri',
  'server/guide/completion.md': 'prompt autocomplete completions arguments',
  'server/guide/elicit.md': 'elicitation elicit form confirm input from the user human in the loop',
  'server/guide/sample.md': 'sampling llm model createMessage completion',
  'server/guide/progress.md': 'progress cancel cancellation abort signal timeout streaming results partial',
  'server/guide/log.md': 'logging logger log level setLevel message notifications',
  'server/guide/state.md': 'session state ctx.update variables per client memory',
  'server/guide/engines.md':
    'engine session store storage memory persist persistence files database redis sealed stateless session id sessions',
  'server/guide/own-engine.md': 'postgres mysql sqlite database custom storage adapter cluster engine suite',
  'server/guide/recipes.md': 'recipes examples cookbook snippets how do i per user database rows tenant',
  'server/guide/hosts.md':
    'claude desktop claude code cursor vscode vs code windsurf zed gemini codex chatgpt configuration mcp.json install hosts',
  'server/guide/lifespan.md':
    'lifespan startup shutdown database connection pool open once close program start stop',
  'server/guide/hooks.md': 'middleware lifecycle init close session hooks interceptor',
  'server/guide/scopes.md': 'authorization permissions roles rbac access control forbidden scopes',
  'server/guide/login.md':
    'login log in sign in sso single sign-on oauth proxy github google entra okta users identity provider',
  'server/guide/authenticate.md':
    'authentication authorization bearer token jwt oauth api key login 401 unauthorized dpop security',
  'server/guide/add-tool.md': 'dynamic tools list changed remove enable disable at run time reload',
  'server/guide/tasks.md': 'long running background job polling async tasks',
  'server/guide/isolation.md': 'worker threads cpu bound blocking event loop sandbox',
  'server/guide/processes.md': 'multi core scale cluster fork workers scaling cpu',
  'server/guide/cluster.md': 'horizontal scaling load balancer several machines nodes sticky sessions',
  'server/guide/gateway.md': 'proxy aggregate combine multiple mcp servers upstream gateway multiplex',
  'server/guide/fetch.md': 'cloudflare workers edge durable object fetch handler serverless',
  'server/guide/fetch-tokens.md': 'worker token login oauth sign in introspection',
  'server/guide/functions.md': 'lambda aws vercel deno deploy bun serverless function',
  'server/gateway/audit.md': 'audit log who did what compliance',
  'server/gateway/trust.md': 'pin lock rug pull tool poisoning changed definitions',
  'server/guide/openapi.md': 'openapi swagger rest api to mcp http wrap existing generate tools from spec',
  'server/guide/testing.md':
    'how to test testing tests unit test mock vitest jest node:test in-process fake clock',
  'server/guide/mistakes.md': 'error handling errors exception throw mistake',
  'server/guide/best-practices.md': 'best practices recommendations advice patterns guidelines dos donts',
  'server/README.md': 'rate limit limits rate limiting throttle quota options configuration overload',
  'client/guide/one-off.md': 'how to connect client single call withClient script',
  'client/guide/calls.md': 'call a tool timeout error handling cancel client result',
  'client/guide/retry.md': 'retry retries reconnect idempotent backoff resume',
  'client/guide/answers.md': 'roots answer handler client questions of servers',
  'client/guide/notifications.md': 'notifications list changed subscribe events listen',
  'client/guide/types.md': 'typescript types inference generate typed client',
  'client/guide/many.md': 'multiple servers mcp.json config file hosts',
  'client/guide/pool.md': 'connection pool concurrency',
  'client/guide/sign-in.md': 'oauth login authorization code pkce token refresh sign in browser',
  'client/guide/models.md': 'openai anthropic claude vercel ai sdk langchain llm agent function calling',
  'client/guide/watch.md': 'events telemetry debug observe client state',
  'transports/guide/mount.md': 'mount express fastify hono next koa middleware framework handler cors',
  'transports/guide/websocket.md': 'websocket sse server-sent events legacy',
  'transports/guide/live-view.md': 'dashboard debug monitor observer ui live view',
  'transports/guide/telemetry.md':
    'opentelemetry otel tracing traces spans metrics prometheus monitoring observability',
  'server/guide/deployment.md':
    'production graceful shutdown sigterm docker kubernetes systemd nginx haproxy reverse proxy health check tls https deploy',
  'server/guide/bundling.md': 'esbuild bundle bundler webpack rollup single file',
  'server/guide/runtimes.md': 'bun deno cloudflare workers edge fetch runtime',
  'client/guide/troubleshooting.md': 'troubleshoot debug problem hangs fails not working error help faq',
  'command/README.md': 'cli command line npx terminal inspector shell serve hot reload dev watch',
  'protocol/errors.md': 'error codes exceptions',
  'protocol/guide/streams.md': 'streaming sse event stream json lines batch',
  'protocol/guide/schemas.md': 'json schema validation validate uri template',
  'protocol/guide/revisions.md': 'protocol version specification compatibility versions',
  'runtime/guide/supervisors.md': 'supervision restart strategy one_for_one supervisor tree',
  'runtime/guide/time.md': 'fake clock timers time',
  'runtime/guide/links.md': 'trap exit down message send_after timeout start_link demonitor',
  'runtime/guide/actors.md': 'actor genserver mailbox message process',
  'runtime/guide/peers.md': 'worker threads child process remote distributed nodes',
  'server/from-the-sdk.md': 'migrate migration official sdk modelcontextprotocol McpServer',
  'server/guide/from-fastmcp.md': 'migrate migration fastmcp python mount',
}

const lost = Object.keys(words).filter((path) => !everyPage.includes(path))
if (lost.length > 0) throw new Error(`scripts/docs/search.mjs has words of pages that are not there: ${lost}`)
const wordsAt = new Map(Object.entries(words).map(([path, text]) => [placeOf(path), text]))

/**
 * Settings of the search. A page has an entry of its own beside those of its parts: its title, and the words that
 * people look for. The functions run in the browser, too, where nothing else of this file is.
 */
export const searchOptions = {
  detailedView: false,
  miniSearch: {
    _splitIntoSections: (file, html) => sectionsOf(file.replace(/^.*\/\.site-[^/]+\//, ''), html),
    searchOptions: {
      fuzzy: 0.15,
      weights: { fuzzy: 0.1, prefix: 0.1 },
      boost: { title: 4, text: 2, titles: 1 },
      boostDocument(id, term, { title }) {
        if (id.includes('/api/')) {
          // a whole name that is no word by itself is what somebody looks for
          const isWhole = /[a-z][A-Z]/.test(title) && title.toLowerCase().replace(/\W/g, '') === term
          return isWhole ? 12 : 0.03
        }
        const isGuide = id.includes('/guide/')
        if (id.includes('#')) return isGuide ? 2 : 1
        const isRoom = id.split('/').length > 3 && id.endsWith('/')
        return isGuide ? 12 : isRoom ? 3 : 8
      },
    },
  },
}

const heading = /<h([1-6]) id="([^"]*)"[^>]*>(.*?)<a class="header-anchor"/g

/** What is found of a page: itself by title and words, and each of its parts; of the API one entry a symbol. */
function* sectionsOf(place, html) {
  const found = [...html.matchAll(heading)].map(({ 1: level, 2: anchor, 3: title, index, 0: whole }) => ({
    ...{ level: Number(level), anchor, title: textOf(title).trim(), from: index, to: index + whole.length },
  }))
  const [first] = found
  if (first === undefined) return
  const text = (index) => textOf(html.slice(found[index].to, found[index + 1]?.from))
  if (place.startsWith('api/')) {
    yield {
      anchor: '',
      titles: [place.split('/').slice(1, -2).join('/'), first.title].filter((name) => name !== ''),
      text: text(0).slice(0, 600),
    }
    return
  }
  yield { anchor: '', titles: [first.title], text: wordsAt.get(place) ?? '' }
  const above = []
  for (const [index, { level, anchor, title }] of found.entries()) {
    above.length = level - 1
    const titles = [...above.filter((name) => name !== undefined), title]
    above[level - 1] = title
    yield { anchor, titles, text: text(index) }
  }
}

function textOf(html) {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
}
