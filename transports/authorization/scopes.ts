/** What every token has: its client may use the server as the user. */
export const baseScope = 'mcp'
