import { startClient, stdio } from 'caduceus'

const files = startClient({
  name: 'files',
  transport: stdio({ command: 'npx', args: ['@modelcontextprotocol/server-filesystem', process.cwd()] }),
})
files.onState(({ phase, reason }) => console.log(phase, reason ?? ''))

const { text } = await files.callTool('list_directory', { path: process.cwd() }, { timeout: 30_000 })
console.log(text)
await files.close()
