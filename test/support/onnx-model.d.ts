export function identityModel(width: number): Uint8Array;
export function meanModel(width: number, outputs: number): Uint8Array;
