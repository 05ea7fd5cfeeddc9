"""Functions of Spark's that our SQL has none of: Spark alone evaluates them.

They give one value for each row. Those that give several, or one for many rows, are no part of a condition; those that
run code of Java by its name are left out as well.
"""

from __future__ import annotations

SPARK_FUNCTIONS = frozenset(
    """
    acos acosh add_months aes_decrypt aes_encrypt aggregate approx_top_k_estimate array array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
    array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap
    arrays_zip ascii asin asinh assert_true atan atan2 atanh base64 bin bit_count bit_get bit_length
    bitmap_bit_position bitmap_bucket_number bitmap_count bround cardinality cbrt char chr collate collation
    concat_ws conv convert_timezone cos cosh cot crc32 csc curdate current_catalog current_database current_date
    current_schema current_time current_timestamp current_timezone current_user date_add date_diff date_format
    date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart dayname dayofyear decode degrees e
    element_at elt encode equal_null exp expm1 factorial filter find_in_set flatten forall format_number
    format_string from_avro from_base32 from_csv from_json from_protobuf from_unixtime from_utc_timestamp from_xml
    get get_json_object getbit hash hex hll_sketch_estimate hll_union hmac hypot initcap input_file_name instr
    is_valid_utf8 is_valid_variant is_variant_null jaro_winkler_similarity json_array_length json_object_keys
    last_day levenshtein ln localtime localtimestamp locate log log10 log1p log2 lpad luhn_check make_date
    make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8
    make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries
    map_keys map_values map_zip_with mask md5 monthname months_between named_struct nanvl negative next_day now
    nullifzero octet_length overlay parse_json parse_url pi pmod position positive pow power printf quote radians
    raise_error rand randn random randstr reduce regexp_count regexp_extract_all regexp_instr regexp_replace
    regexp_substr repeat replace reverse rint rpad schema_of_csv schema_of_json schema_of_variant sec sentences
    sequence session_user sha sha1 sha2 shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size
    slice sort_array soundex space split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid
    st_srid str_to_map struct substring_index tan tanh theta_difference theta_intersection theta_sketch_estimate
    theta_union time time_bucket time_diff time_from_micros time_from_millis time_from_seconds time_to_micros
    time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds
    to_avro to_base32 to_binary to_char to_csv to_date to_json to_number to_protobuf to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar to_variant_object to_xml
    transform transform_keys transform_values translate trunc try_add try_aes_decrypt try_divide try_element_at
    try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
    try_parse_json try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time try_to_timestamp
    try_url_decode try_validate_utf8 try_variant_get typeof unbase64 unhex uniform unix_date unix_micros
    unix_millis unix_nanos unix_seconds unix_timestamp url_decode url_encode user uuid validate_utf8 variant_get
    vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize
    vector_sum version weekday weekofyear width_bucket xpath xpath_boolean xpath_double xpath_float xpath_int
    xpath_long xpath_number xpath_short xpath_string xxhash64 zeroifnull zip_with
""".split()
)
"""Those of Spark 4.3; an older one refuses what it does not have."""
