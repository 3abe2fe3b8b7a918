import { defineServer, http, serveHttp, skillsFrom, startClient, startServer } from 'caduceus'

const team = defineServer({
  name: 'team',
  version: '1.0.0',
  // read now; rejects for what is no skill
  skills: await skillsFrom('test/examples/skills', { directoryRead: true }),
})
await using server = await startServer(team, { transport: serveHttp(), logger: false })

await using client = startClient({ transport: http(server.url ?? '') })
for await (const { uri, description, problem } of client.skills())
  console.log(uri, description, problem ?? 'fine')

const skill = await client.getSkill('skill://git-workflow/SKILL.md')
const instructions = await skill.load() // read, and checked against digest, size and front matter
console.log(instructions.split('\n').at(-2))
console.log((await skill.read('references/COMMITS.md')).text?.trim())
await skill.read('secrets.md').catch(({ message }: Error) => console.log(message)) // not in the entry: not asked for
for await (const { name, mimeType } of client.readDirectory('skill://git-workflow'))
  console.log(name, mimeType)
