import {
  clientActorSpec,
  clientSpec,
  defineServer,
  defineTool,
  findClient,
  formatTree,
  inspect,
  memory,
  Registry,
  serverSpec,
  startSupervisor,
  transportSpec,
} from 'caduceus'

const hello = defineTool({ name: 'hello', run: () => 'hello' })
const definition = defineServer({ name: 'greeter', version: '1.0.0', tools: [hello] })
const { serve, connect } = memory()
const registry = new Registry()
const apart = { name: 'apart', transport: connect }

// server and clients below one supervisor of yours: started in this order, stopped in the opposite one
const tree = await startSupervisor({
  name: 'app',
  registry,
  strategy: 'one_for_one',
  logger: false,
  children: [
    serverSpec(definition, { transport: serve }),
    clientSpec({ name: 'near', transport: connect }),
    transportSpec(apart), // the two halves of a client, each a child of its own
    clientActorSpec(apart),
  ],
})
for (const name of ['near', 'apart']) {
  const client = await findClient(registry, name)
  console.log(name, (await client.callTool('hello')).text)
}
const shown = formatTree(inspect(tree))
console.log(shown.replaceAll(/session \w{8}/g, 'session ...'))
await tree.stop()
