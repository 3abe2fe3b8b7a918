// Loaded before a server of others (node --import): it listens on this machine alone, whatever it asks for, and says on standard error where.
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function listenHere(port, ...rest) {
  this.once('listening', () => console.error(`listening on port ${this.address().port}`))
  const callback = rest.find((one) => typeof one === 'function')
  return listen.call(this, { port: Number(port.port ?? port), host: '127.0.0.1' }, callback)
}
