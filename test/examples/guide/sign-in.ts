import { oauth } from 'caduceus'
import { type OAuth, redisAuthStorage } from 'caduceus/client'

// a program without a user: it has a secret, and no browser
const auth: OAuth = oauth({
  client: {
    id: 'nightly-report',
    secret: process.env.CLIENT_SECRET ?? 'a secret',
    issuer: 'https://login.example.com', // the secret goes to nobody else
  },
  scope: 'reports',
  // programs on several machines share the tokens; one of them renews them
  storage: redisAuthStorage({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
})
console.log(typeof auth.authorize, typeof auth.refused) // what `http(url, { auth })` asks before a request
await auth.close()
