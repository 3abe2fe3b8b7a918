import { defineResource, defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const ui = 'io.modelcontextprotocol/ui'
const pageType = 'text/html;profile=mcp-app'

/** Shows the result of the tool. It speaks JSON-RPC with its host, and loads nothing from anywhere. */
const html = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Clock</title></head>
<body>
<h1 id="time">...</h1>
<script>
const tell = (message) => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
window.addEventListener('message', ({ source, data }) => {
  if (source !== window.parent) return
  if (data.id === 1) tell({ method: 'ui/notifications/initialized' })
  if (data.method === 'ui/notifications/tool-result')
    document.getElementById('time').textContent = data.params.structuredContent.time
})
const params = { protocolVersion: '2026-01-26', appInfo: { name: 'clock', version: '1.0.0' }, appCapabilities: {} }
tell({ id: 1, method: 'ui/initialize', params })
</script>
</body>
</html>`

const page = defineResource({
  uri: 'ui://clock/page.html',
  name: 'clock_page',
  mimeType: pageType,
  read: () => ({ text: html, _meta: { ui: { csp: { connectDomains: [] }, prefersBorder: true } } }),
})

const clock = defineTool({
  name: 'clock',
  description: 'Tells the time in a place.',
  input: { zone: field.string({ default: 'UTC' }) },
  output: { time: field.string() }, // for the page; clients without pages, and the model, get it as a text
  meta: { ui: { resourceUri: page.uri } },
  run: ({ zone }, ctx) => {
    const { mimeTypes } = ctx.session.capabilities.extensions?.[ui] ?? {}
    console.log(`shows pages: ${Array.isArray(mimeTypes) && mimeTypes.includes(pageType)}`)
    return { time: new Date(0).toLocaleTimeString('en-GB', { timeZone: zone }) }
  },
})

const server = defineServer({
  name: 'clock',
  version: '1.0.0',
  tools: [clock],
  resources: [page],
  extensions: { [ui]: {} },
})

// a host declares which pages it can show
await using pair = await connect(server, { client: { extensions: { [ui]: { mimeTypes: [pageType] } } } })
const { tools } = await pair.client.listTools()
const shown = tools[0]?._meta?.ui as { resourceUri: string } | undefined
const { contents } = await pair.client.readResource(shown?.resourceUri ?? '')
console.log(contents[0]?.uri, contents[0]?.mimeType, JSON.stringify(contents[0]?._meta))
console.log((await pair.client.callTool('clock', { zone: 'Asia/Tokyo' })).structuredContent)
