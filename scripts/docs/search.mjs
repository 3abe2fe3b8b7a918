// What the search of the site finds first: pages before symbols, by the words that people look for.
import { contents } from './contents.mjs'

/** Words that people search for, and that a page does not have in its title. */
const words = {
  'server/guide/tutorial.md': 'how to getting started first server example hello world learn',
  'transports/guide/choose.md': 'http stdio streamable streaming sse transports choose',
  'server/guide/tools.md': 'how to add define a tool function zod schema structured output annotations',
  'server/guide/content.md': 'image audio file binary result content blob',
  'server/guide/resources.md': 'how to resource template subscribe file uri',
  'server/guide/completion.md': 'prompt autocomplete completions arguments',
  'server/guide/elicit.md': 'elicitation form confirm input from the user human in the loop',
  'server/guide/sample.md': 'sampling llm model createMessage completion',
  'server/guide/progress.md': 'progress cancel cancellation abort signal timeout streaming results partial',
  'server/guide/log.md': 'logging logger log level setLevel message notifications',
  'server/guide/state.md': 'session state ctx.update variables per client memory',
  'server/guide/engines.md':
    'engine session store storage memory persist persistence files database redis sealed stateless session id sessions',
  'server/guide/own-engine.md': 'postgres mysql sqlite database custom storage adapter cluster engine suite',
  'server/guide/hooks.md': 'middleware lifecycle init close session hooks interceptor',
  'server/guide/scopes.md': 'authorization permissions roles rbac access control forbidden scopes',
  'server/guide/authenticate.md':
    'authentication authorization bearer token jwt oauth api key login 401 unauthorized dpop security',
  'server/guide/add-tool.md': 'dynamic tools list changed remove enable disable at run time reload',
  'server/guide/tasks.md': 'long running background job polling async tasks',
  'server/guide/isolation.md': 'worker threads cpu bound blocking event loop sandbox',
  'server/guide/processes.md': 'multi core scale cluster fork workers scaling cpu',
  'server/guide/cluster.md': 'horizontal scaling load balancer kubernetes redis nodes sticky sessions',
  'server/guide/gateway.md': 'proxy aggregate combine multiple mcp servers upstream gateway multiplex',
  'server/guide/fetch.md': 'cloudflare workers edge durable object fetch handler serverless',
  'server/guide/fetch-tokens.md': 'worker token login oauth sign in jwt introspection',
  'server/guide/functions.md': 'lambda aws vercel deno deploy bun serverless function',
  'server/gateway/audit.md': 'audit log who did what compliance',
  'server/gateway/trust.md': 'pin lock rug pull tool poisoning changed definitions',
  'server/guide/openapi.md': 'openapi swagger rest api to mcp http wrap existing generate tools from spec',
  'server/guide/testing.md': 'how to test testing tests unit test mock vitest jest node:test fake clock',
  'server/guide/mistakes.md': 'error handling errors exception throw mistake',
  'server/guide/best-practices.md': 'best practices recommendations advice patterns guidelines dos donts',
  'server/README.md': 'rate limit limits rate limiting throttle quota options configuration overload',
  'client/guide/one-off.md': 'how to connect client single call withClient script',
  'client/guide/calls.md': 'call a tool timeout error handling cancel client result',
  'client/guide/retry.md': 'retry retries reconnect idempotent backoff resume',
  'client/guide/answers.md': 'roots sampling elicitation answer handler client',
  'client/guide/notifications.md': 'notifications list changed subscribe events listen',
  'client/guide/types.md': 'typescript types inference generate typed client',
  'client/guide/many.md': 'multiple servers mcp.json config file hosts',
  'client/guide/pool.md': 'connection pool concurrency',
  'client/guide/sign-in.md': 'oauth login authorization code pkce token refresh sign in browser',
  'client/guide/models.md': 'openai anthropic claude vercel ai sdk langchain llm agent function calling',
  'client/guide/watch.md': 'events telemetry debug observe client state',
  'transports/guide/mount.md': 'mount express fastify hono next koa middleware framework handler cors',
  'transports/guide/websocket.md': 'websocket sse server-sent events legacy',
  'transports/guide/live-view.md': 'dashboard debug monitor observer inspector ui live view',
  'transports/guide/telemetry.md':
    'opentelemetry otel tracing traces spans metrics prometheus monitoring observability',
  'server/guide/deployment.md':
    'production graceful shutdown sigterm docker kubernetes systemd nginx haproxy reverse proxy health check tls https deploy',
  'server/guide/bundling.md': 'esbuild bundle bundler webpack rollup single file',
  'server/guide/runtimes.md': 'bun deno cloudflare workers edge fetch runtime',
  'client/guide/troubleshooting.md': 'troubleshoot debug problem hangs fails not working error help faq',
  'command/README.md': 'cli command line npx terminal inspector shell serve',
  'protocol/errors.md': 'error codes exceptions',
  'protocol/guide/streams.md': 'streaming sse event stream json lines batch',
  'protocol/guide/schemas.md': 'json schema validation validate uri template',
  'protocol/guide/revisions.md': 'protocol version specification compatibility versions',
  'runtime/guide/supervisors.md': 'supervision restart strategy one_for_one supervisor tree',
  'runtime/guide/time.md': 'fake clock timers test time mock',
  'runtime/guide/actors.md': 'actor genserver mailbox message process',
  'runtime/guide/peers.md': 'worker threads child process remote distributed nodes',
  'server/from-the-sdk.md': 'migrate migration official sdk modelcontextprotocol McpServer',
  'server/guide/from-fastmcp.md': 'migrate migration fastmcp python',
}

const guides = contents.slice(0, -1).flatMap(({ pages }) => pages)
const lost = Object.keys(words).filter((path) => !guides.includes(path))
if (lost.length > 0) throw new Error(`scripts/docs/search.mjs has words of pages that are not there: ${lost}`)

/** How much each kind of result weighs: symbols are 1; most members are fields of options, found by their page. */
const weights = { guide: 20, room: 4, member: 0.1 }
/** Many results have no such words, so that few words count as a long text: much makes up for it. */
const weightOfWords = 150

/** Gives results their weight and pages their words, when the index is made; `pathOf` tells the file of a page. */
export function weighResults(app, { IndexEvent, ReflectionKind }, pathOf) {
  app.renderer.on(IndexEvent.PREPARE_INDEX, (event) => {
    event.searchFieldWeights.words = weightOfWords
    event.searchResults.forEach((found, index) => {
      const path = pathOf(found)
      if (path === undefined) {
        if (!found.parent?.kindOf(ReflectionKind.SomeModule | ReflectionKind.Project))
          found.relevanceBoost = weights.member
        return
      }
      found.relevanceBoost = guides.includes(path) ? weights.guide : weights.room
      if (words[path] !== undefined) event.searchFields[index].words = words[path]
    })
  })
}
