"""The questions again, in SQL over the files as they are: nothing of ours, neither times nor functions."""

from __future__ import annotations

BASE = """
    CREATE TABLE numbered AS SELECT row_number() OVER () - 1 AS id, * FROM flights;
    CREATE TABLE went AS
        SELECT *, time_hour + to_minutes(minute + dep_delay) AS moment FROM numbered
        WHERE dep_delay IS NOT NULL AND month <= {months};
    CREATE MACRO lat(place) AS CASE place WHEN 'EWR' THEN 40.6925 WHEN 'JFK' THEN 40.639751 ELSE 40.777245 END;
    CREATE MACRO lon(place) AS CASE place WHEN 'EWR' THEN -74.168667 WHEN 'JFK' THEN -73.778925 ELSE -73.872608 END;
    CREATE MACRO tilt(t) AS radians(-23.44 * cos(2 * pi() * (date_part('doy', t) + 10) / 365));
    CREATE MACRO angle(t, place) AS
        radians(15 * (date_part('hour', t) + date_part('minute', t) / 60 + lon(place) / 15 - 12));
    CREATE MACRO dark(t, place) AS
        sin(radians(lat(place))) * sin(tilt(t))
        + cos(radians(lat(place))) * cos(tilt(t)) * cos(angle(t, place)) < 0;
    CREATE TABLE over AS
        SELECT went.*, w.wind_dir, CASE WHEN w.wind_speed < 200 THEN w.wind_speed END AS wind,
               coalesce(w.precip, 0) > 0.02 OR coalesce(w.visib, 10) < 3 OR coalesce(w.wind_gust, 0) > 30 AS bad,
               w.temp, w.visib
        FROM went JOIN weather w
          ON went.origin = w.origin AND w.month <= {months}
         AND moment >= w.time_hour AND moment < w.time_hour + INTERVAL 1 HOUR;
"""
"""Departures with their times, and with the weather over the airport."""

RISKY = """
    WITH chosen AS (
        SELECT id, over.tailnum, planes.year, airports.name AS destination, wind, radians(wind_dir) AS blows,
               radians(lat(origin)) AS n0, radians(lon(origin)) AS e0,
               radians(airports.lat) AS n1, radians(airports.lon) AS e1
        FROM over JOIN planes USING (tailnum) JOIN airports ON dest = faa
        WHERE dep_delay > 15 AND planes.year < 2000 AND bad AND dark(moment, origin)),
    far AS (
        SELECT *, 2 * asin(sqrt(sin((n1 - n0) / 2) ** 2 + cos(n0) * cos(n1) * sin((e1 - e0) / 2) ** 2)) AS arc
        FROM chosen),
    steps AS (
        SELECT *, unnest(range(0, ceil(arc * 3958.8 / 50)::int)) AS step FROM far),
    points AS (
        SELECT *, least(50, arc * 3958.8 - step * 50) AS miles,
               sin(arc - step * 50 / 3958.8) / sin(arc) AS a, sin(step * 50 / 3958.8) / sin(arc) AS b FROM steps),
    placed AS (
        SELECT *, a * cos(n0) * cos(e0) + b * cos(n1) * cos(e1) AS x,
               a * cos(n0) * sin(e0) + b * cos(n1) * sin(e1) AS y,
               a * sin(n0) + b * sin(n1) AS z FROM points),
    there AS (SELECT *, atan2(z, sqrt(x * x + y * y)) AS n, atan2(y, x) AS e FROM placed),
    headed AS (
        SELECT *, blows - atan2(sin(e1 - e) * cos(n1), cos(n) * sin(n1) - sin(n) * cos(n1) * cos(e1 - e)) AS against
        FROM there)
    SELECT id, tailnum, year, destination FROM headed GROUP BY ALL
    HAVING sum(miles / (sqrt(460 ** 2 - (wind * sin(against)) ** 2) - wind * cos(against)) - miles / 460) * 60 > 5
"""
"""The way of the great circle as points of a sphere, where the function goes from step to step."""

DESCRIBED = """
    SELECT id, airlines.name AS airline, planes.model, temp, visib
    FROM over JOIN planes USING (tailnum) JOIN airlines ON airlines.carrier = over.carrier
"""

CAUGHT_UP = """
    SELECT id, airlines.name AS airline, dep_delay, arr_delay
    FROM over JOIN airlines ON airlines.carrier = over.carrier
    WHERE bad AND dep_delay > 15 AND arr_delay <= 0 AND dark(moment, origin)
"""

WATCHED = """
    WITH past AS (SELECT hour, dep_delay, distance, arr_delay FROM numbered
                  WHERE month = 1 AND day <= 7 AND arr_delay IS NOT NULL),
    kinds AS (SELECT DISTINCT hour, dep_delay, distance FROM went WHERE distance > 1000 AND dark(moment, origin)),
    late AS (
        SELECT kinds.* FROM kinds JOIN past
          ON past.dep_delay BETWEEN kinds.dep_delay - 15 AND kinds.dep_delay + 15
         AND past.hour BETWEEN kinds.hour - 2 AND kinds.hour + 2
         AND past.distance BETWEEN kinds.distance - 300 AND kinds.distance + 300
        GROUP BY ALL HAVING avg(arr_delay) > 15)
    SELECT id FROM went JOIN late USING (hour, dep_delay, distance) WHERE distance > 1000 AND dark(moment, origin)
"""

ANSWERS = {"risky": RISKY, "described": DESCRIBED, "caught_up": CAUGHT_UP, "watched": WATCHED}
