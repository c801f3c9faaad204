create or replace function loom._search_asked(p_caller loom.caller, p_query text, p_query_embedding jsonb)
returns loom.search_query
language plpgsql stable
as $$
declare
  v_asked loom.search_query;
  v_active loom.embedding_model;
  v_reason text;
begin
  v_asked.terms := loom._search_terms(loom._search_languages(p_caller.org, p_caller.namespace), p_query);
  select * into v_active from loom.embedding_model where state = 'active';
  v_reason := case
    when v_active.model is null then 'no_model'
    when p_query_embedding is null then 'no_query_embedding'
    when p_query_embedding ->> 'model' <> v_active.model then 'other_model' end;
  if v_reason is null then
    if loom._vector_size(p_query_embedding -> 'vector') is distinct from coalesce(v_active.dimension, 0) then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', 'query_embedding.vector',
          'reason', format('must be %s numbers that a vector can hold, not all zero', v_active.dimension))::text,
        hint = 'Send the vector that the named model made of the query.';
    end if;
    v_asked.model := v_active.model;
    v_asked.vector := p_query_embedding -> 'vector';
  end if;
  v_asked.legs := jsonb_build_object(
    'text', case when v_asked.terms = '{}' then '{"ran": false, "reason": "no_words"}' else '{"ran": true}' end::jsonb,
    'vector', jsonb_strip_nulls(jsonb_build_object('ran', v_reason is null, 'reason', v_reason)));
  return v_asked;
end
$$;
comment on function loom._search_asked(loom.caller, text, jsonb) is
  'What a query asks of full text, and of vectors where it comes with a vector of the active model. LM001 for a vector of another size than the model''s.';
