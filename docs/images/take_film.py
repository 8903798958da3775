"""Takes the film of the README: robot and model, before and after the fit of ``trueup demo``.

Needs OpenGL and the extra ``video``. Run::

    python docs/images/take_film.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

FILM = Path(__file__).parent / "before_and_after.webp"
SECONDS, EVERY, WIDTH = 6.0, 2, 400
"""Length of the film [s], every how many frames are kept, and width [pixels]."""


def main() -> None:
    """Run the demonstration, film it, and store a small loop."""
    import imageio.v2 as imageio
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        for words in (["demo"], ["view", "trueup-demo/runs/arm", "--output", str(film)]):
            subprocess.run([sys.executable, "-m", "trueup", *words], check=True, cwd=folder)
        with imageio.get_reader(film) as reader:
            rate = reader.get_meta_data()["fps"]
            frames = [Image.fromarray(frame) for frame in reader]
    kept = frames[: int(SECONDS * rate) : EVERY]
    height = WIDTH * kept[0].height // kept[0].width
    first, *rest = [frame.resize((WIDTH, height)) for frame in kept]
    first.save(
        FILM, save_all=True, append_images=rest, duration=1000 * EVERY / rate, loop=0, quality=60
    )


if __name__ == "__main__":
    main()
