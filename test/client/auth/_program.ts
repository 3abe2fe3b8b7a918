import { fileAuthStorage, oauth, redisAuthStorage, withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'

/** A program that shares the tokens of others: calls a tool of the server at argv[2], with the storage at argv[3] (a folder, or a Redis), and prints what came. */
const [, , url = '', place = ''] = process.argv
const storage = place.startsWith('redis:') ? redisAuthStorage({ url: place }) : fileAuthStorage(place)
const auth = oauth({ storage })
const transport = http(url, { auth, stream: false })
const texts = await withClient({ transport, logger: false }, async (client) => {
  const results = await Promise.all([client.callTool('x'), client.callTool('x')])
  return results.map(({ text }) => text)
})
console.log(texts.join())
