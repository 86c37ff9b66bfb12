// None: scripts/build_site.py puts the bundle of ../editor in the place of this file, where npm is.
export default null;
