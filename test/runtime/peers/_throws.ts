throw new Error('no module')
