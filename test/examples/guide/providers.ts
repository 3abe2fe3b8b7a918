import { github, oauth2, oidc } from 'caduceus/transports'

const { GITHUB_SECRET = 'x', GOOGLE_SECRET = 'x', ENTRA_SECRET = 'x', INTRA_SECRET = 'x' } = process.env

export const providers = [
  github({ clientId: 'Iv1.0123456789abcdef', clientSecret: GITHUB_SECRET }),
  oidc({
    name: 'Google',
    issuer: 'https://accounts.google.com',
    clientId: '1234.apps.googleusercontent.com',
    clientSecret: GOOGLE_SECRET,
    params: { access_type: 'offline', prompt: 'consent' }, // for a refresh token
  }),
  oidc({
    name: 'Microsoft',
    issuer: 'https://login.microsoftonline.com/TENANT-ID/v2.0', // one tenant: only people of my company
    clientId: '11111111-2222-3333-4444-555555555555',
    clientSecret: ENTRA_SECRET,
    scopes: ['openid', 'profile', 'email', 'offline_access', 'User.Read'],
  }),
  // a provider of OAuth without OpenID
  oauth2({
    name: 'Intranet',
    authorizeUrl: 'https://login.example.com/authorize',
    tokenUrl: 'https://login.example.com/token',
    clientId: 'mcp',
    clientSecret: INTRA_SECRET,
    userInfo: async (ask) => {
      const { id, name } = (await ask('https://login.example.com/api/me')) as { id: number; name: string }
      // a user without an id would be everybody
      if (!Number.isSafeInteger(id)) throw new Error('the intranet does not say who it is')
      return { subject: String(id), name }
    },
  }),
]
console.log(providers.map(({ name }) => name).join(', '))
