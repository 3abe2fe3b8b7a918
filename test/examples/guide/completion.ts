import { definePrompt, defineResourceTemplate, defineServer, field, promptResult } from 'caduceus'
import { connect } from 'caduceus/testing'

const cities = ['Berlin', 'Bern', 'Lisbon']
const guide = definePrompt({
  name: 'guide',
  arguments: { city: field.string(), street: field.string().optional() },
  get: ({ city }) => promptResult().user(`Show me ${city}.`),
  complete: {
    city: (typed) => cities.filter((city) => city.toLowerCase().startsWith(typed.toLowerCase())),
    // what is filled in already comes second
    street: (typed, { city }) => [`${typed}straße, ${city ?? 'anywhere'}`],
  },
})
const city = defineResourceTemplate({
  name: 'city',
  uriTemplate: 'city://{name}',
  read: ({ name }) => `All about ${name}`,
  complete: { name: (typed) => cities.filter((name) => name.startsWith(typed)) },
})

const server = defineServer({ name: 'travel', version: '1.0.0', prompts: [guide], resourceTemplates: [city] })
await using pair = await connect(server)
const ask = async (ref: Parameters<typeof pair.client.complete>[0]) =>
  console.log((await pair.client.complete(ref)).completion.values.join(', '))
await ask({ ref: { type: 'ref/prompt', name: 'guide' }, argument: { name: 'city', value: 'ber' } })
await ask({
  ref: { type: 'ref/prompt', name: 'guide' },
  argument: { name: 'street', value: 'Main' },
  context: { arguments: { city: 'Bern' } },
})
await ask({ ref: { type: 'ref/resource', uri: 'city://{name}' }, argument: { name: 'name', value: 'L' } })
